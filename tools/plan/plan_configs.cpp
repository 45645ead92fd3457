#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "models/launch/export_launch.h"
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

Status write_launch_files(TrainingPlan plan, const std::string& folder, PlanConfigs& written) {
  plan.file = written.plan;
  plan.pointer.clear();
  for (const launch::LaunchExport& format : launch::launch_exports()) {
    const fs::path file = fs::path(folder) / format.file_name;
    const Result<std::string> text = launch::export_launch(plan, format.name);
    if (text) {
      GOODPUT_TRY_STATUS(write_text_atomically(file.string(), *text));
      written.launch_files.push_back(file.string());
    } else {
      std::error_code ignored;
      fs::remove(file, ignored);
      written.not_exported.push_back(fmt::format("{}: {}", format.title, text.error().message()));
    }
  }
  return Ok{};
}

}  // namespace

Result<PlanConfigs> write_plan_configs(const PlanReport& report, const std::string& folder) {
  GOODPUT_CHECK(report.answer.best.has_value(), "an answer to write");
  const PlanOption& best = *report.answer.best;
  GOODPUT_TRY(Scenario scenario,
              question_scenario(report.question, best.choice, {best.options}, report.answer.most));
  scenario.trials = best.trials;
  GOODPUT_TRY(const Scenario written, resolved(std::move(scenario)));
  constexpr std::string_view kSource = "answer from goodput plan";
  PlanConfigs files;
  GOODPUT_TRY(files.plan, write_config(echo(written.plan), kSource, fs::path(folder) / "plan.json"));
  GOODPUT_TRY(files.scenario, write_config(echo(written), kSource, fs::path(folder) / "scenario.json"));
  GOODPUT_TRY_STATUS(write_launch_files(written.plan, folder, files));
  return files;
}

}  // namespace goodput
