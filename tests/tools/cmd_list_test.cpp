#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "models/cost/cost_models.h"
#include "models/plan/training_plan.h"
#include "models/schedule/schedule.h"
#include "models/shape/model_file.h"
#include "sim/base/json.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"
#include "tools/shipped_configs.h"
#include "traces/op/op_trace_format.h"
#include "traces/routing/routing_format.h"
#include "traces/spot/spot_format.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kKinds = {
    "formats",  "schedules",       "cost-models", "policies",    "failures",       "models",
    "clusters", "stacks",          "plans",       "scenarios",   "routing-models", "calibrations",
    "commands", "failure-presets", "fleets",      "alert-rules", "recipes"};

Json listed(const std::string& what, const std::string& configs = GOODPUT_CONFIGS) {
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code =
      run_command_line(builtin_commands(), {"list", what, "--configs", configs, "--json", "-"}, out, err);
  REQUIRE_MESSAGE(code == ExitCode::kOk, err.str());
  return Json::parse(out.str()).at(what);
}

std::string message_of(const std::string& what, const std::string& configs) {
  std::ostringstream out;
  std::ostringstream err;
  (void)run_command_line(builtin_commands(), {"list", what, "--configs", configs}, out, err);
  CHECK(out.str().empty());
  return err.str();
}

// A folder that is gone with this object.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(fs::temp_directory_path() / ("goodput-list-" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::set<std::string> names(const std::string& what) {
  std::set<std::string> found;
  for (const Json& item : listed(what)) found.insert(item.at("name").get<std::string>());
  return found;
}

}  // namespace

TEST_CASE("list: every entry has a name of its own and a summary of one line") {
  for (const std::string& what : kKinds) {
    const Json items = listed(what);
    CHECK(!items.empty());
    CHECK(names(what).size() == items.size());
    for (const Json& item : items) {
      const std::string summary = item.at("summary").get<std::string>();
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
      CHECK(forwards * shape.stages == 4 * (*schedule)->positions(shape));
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

TEST_CASE("list: a scenario says what a planner looks for, a calibration what was measured") {
  const auto summary_of = [](const std::string& what, const std::string& name) {
    for (const Json& item : listed(what)) {
      if (item.at("name") == name) return item.at("summary").get<std::string>();
    }
    return std::string("none");
  };
  CHECK(summary_of("scenarios", "controlled-5min-gpt-s") ==
        "GPT-S on 10 x 1 RTX 3090, 30.0 min; failures: interval; policies: lazarus, ds, ds_ft; 20 trials");
  CHECK(summary_of("calibrations", "h200-public") ==
        "8 x NVIDIA H200 (also for H100): 3 all_reduce, 3 all_gather, 3 reduce_scatter, 3 all_to_all, 9 gemm "
        "tables; ai-dynamo/aiconfigurator, commit 095f58a51, systems/data/h200_sxm; made by "
        "tests/bench/make_calibration.py");
  CHECK(names("scenarios").size() >= 22);
}

TEST_CASE("list: a kind of which there is none says where it looked; a wrong folder is an error") {
  const TemporaryFolder configs;
  const std::string folder = configs.path().string();
  CHECK(message_of("suites", folder) ==
        "error: --configs: \"" + folder +
            "\" contains no configs; name a folder that has at least one of models, clusters, stacks, plans, "
            "recipes, "
            "scenarios, sweeps, questions, calibration, routing, suites, failures, fleets, alerts\n");
  fs::create_directory(configs.path() / "suites");
  const auto kinds = config_kinds();
  const auto suites =
      std::find_if(kinds.begin(), kinds.end(), [](const ConfigKind& kind) { return kind.name == "suites"; });
  const Listing none = list_configs(*suites, {{folder}}).value();
  CHECK(none.items.empty());
  CHECK(none.note == "no suites in " + folder);
  const std::string file = (configs.path() / "suites" / "smoke.json").string();
  std::ofstream(file) << R"({"source": "runs of today"})";
  CHECK(listed("suites", folder) ==
        Json::array({{{"name", "smoke"}, {"summary", "runs of today"}, {"file", file}}}));
}

}  // namespace goodput
