#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "models/cost/cost_models.h"
#include "models/plan/training_plan.h"
#include "models/schedule/schedule.h"
#include "models/shape/model_file.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"
#include "traces/op/op_trace_format.h"
#include "traces/routing/routing_format.h"
#include "traces/spot/spot_format.h"

namespace goodput {
namespace {

using nlohmann::json;

const std::vector<std::string> kRegistries = {"formats",  "schedules", "cost-models", "policies",
                                              "failures", "models",    "clusters",    "plans"};

json listed(const std::string& what) {
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = run_command_line(
      builtin_commands(), {"list", what, "--configs", GOODPUT_CONFIGS, "--json", "-"}, out, err);
  REQUIRE_MESSAGE(code == ExitCode::kOk, err.str());
  return json::parse(out.str()).at(what);
}

std::set<std::string> names(const std::string& what) {
  std::set<std::string> found;
  for (const json& item : listed(what)) found.insert(item.at("name").get<std::string>());
  return found;
}

}  // namespace

TEST_CASE("list: every entry has a name of its own and a summary of one line") {
  for (const std::string& what : kRegistries) {
    const json items = listed(what);
    CHECK(!items.empty());
    CHECK(names(what).size() == items.size());
    for (const json& item : items) {
      const std::string summary = item.at("summary");
      CHECK(!summary.empty());
      CHECK(summary.find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("list: every schedule that is listed can be found, passes its check and orders all passes") {
  const ScheduleShape shape = {.stages = 2, .chunks = 1, .micro_batches = 4};
  for (const std::string& name : names("schedules")) {
    const auto schedule = find_schedule(name);
    REQUIRE(schedule);
    REQUIRE_MESSAGE((*schedule)->check(shape), name);
    for (std::int32_t stage = 0; stage < shape.stages; ++stage) {
      const std::vector<Pass> passes = (*schedule)->passes(shape, stage);
      const auto forwards = std::count_if(passes.begin(), passes.end(),
                                          [](const Pass& pass) { return pass.kind == Pass::Kind::kForward; });
      CHECK(forwards == 4);
    }
  }
}

TEST_CASE("list: every cost model that is listed prices the shipped H200 machines") {
  for (const std::string& name : names("cost-models")) {
    TrainingPlan plan;
    plan.file = GOODPUT_CONFIGS "/plans/none.json";
    plan.cluster = read_cluster(GOODPUT_CONFIGS "/clusters/dgx-h200.json")->cluster;
    plan.cost_model = name;
    const auto cost = make_cost_model(cost_inputs(plan));
    REQUIRE_MESSAGE(cost, cost.error().message());
    const Kernel kernel = {.kind = Kernel::Kind::kGemm, .m = 4096, .n = 4096, .k = 4096};
    CHECK((*cost)->kernels({&kernel, 1}).seconds > 0);
  }
}

TEST_CASE("list: every model, cluster and format goes by the name that is listed") {
  for (const std::string& name : names("models"))
    CHECK(read_any_model(GOODPUT_CONFIGS "/models/" + name + ".json"));
  for (const std::string& name : names("clusters"))
    CHECK(read_cluster(GOODPUT_CONFIGS "/clusters/" + name + ".json"));
  CHECK(names("formats").size() ==
        op_trace_formats().size() + routing_formats().size() + spot_formats().size());
  for (const char* name : {"gpt3-175b", "llama3-405b", "mixtral-8x7b", "deepseek-v3"})
    CHECK(names("models").contains(name));
}

}  // namespace goodput
