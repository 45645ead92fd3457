#include <filesystem>

#include "sim/base/json.h"
#include "tools/cli/output_file.h"
#include "tools/plan/plan_report.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

Result<std::string> write_config(const OrderedJson& json, std::string_view source, const fs::path& file) {
  OrderedJson whole = {{"source", source}};
  whole.update(json);
  GOODPUT_TRY_STATUS(write_text_atomically(file.string(), whole.dump(2) + "\n"));
  return file.string();
}

// Fields refer to what they are of.
template <typename T>
OrderedJson echo(T config) {
  return config::write(config_fields(config));
}

}  // namespace

Result<std::vector<std::string>> write_plan_configs(const PlanReport& report, const std::string& folder) {
  GOODPUT_CHECK(report.answer.best.has_value(), "an answer to write");
  const PlanOption& best = *report.answer.best;
  GOODPUT_TRY(Scenario scenario,
              question_scenario(report.question, best.choice, {best.options}, report.answer.most));
  scenario.trials = best.trials;
  GOODPUT_TRY(const Scenario written, resolved(std::move(scenario)));
  constexpr std::string_view kSource = "answer from goodput plan";
  GOODPUT_TRY(const std::string plan,
              write_config(echo(written.plan), kSource, fs::path(folder) / "plan.json"));
  GOODPUT_TRY(const std::string of_scenario,
              write_config(echo(written), kSource, fs::path(folder) / "scenario.json"));
  return std::vector{plan, of_scenario};
}

}  // namespace goodput
