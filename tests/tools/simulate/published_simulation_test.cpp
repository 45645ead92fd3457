// The figures of docs/validation.md#jobs: ours, to 2 %. Whether they agree with the paper's is for that page
// to say.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tools/simulate/scenario_inputs.h"

namespace goodput {
namespace {

constexpr double kTolerance = 0.02;

bool has_shared_data() {
  const std::filesystem::path data = GOODPUT_SHARED_DATA;
  if (std::filesystem::exists(data / "routing/smartmoe_expert_load_agg.csv.gz")) return true;
  MESSAGE("skipped: no shared data");
  return false;
}

Simulation simulate_config(const std::string& name, const std::vector<config::Change>& changes = {}) {
  const auto scenario = read_scenario(std::string(GOODPUT_CONFIGS) + "/scenarios/" + name + ".json", changes);
  REQUIRE_MESSAGE(scenario, scenario.error().message());
  const auto inputs = read_scenario_inputs(*scenario, 0);
  REQUIRE_MESSAGE(inputs, inputs.error().message());
  SimulationOptions options;
  options.trials = scenario->trials;
  auto simulation = simulate(*scenario, inputs->view(), options);
  REQUIRE_MESSAGE(simulation, simulation.error().message());
  return *std::move(simulation);
}

const PolicyOutcome& outcome(const Simulation& simulation, std::string_view name) {
  const auto found = std::find_if(simulation.policies.begin(), simulation.policies.end(),
                                  [name](const PolicyOutcome& policy) { return policy.name == name; });
  REQUIRE(found != simulation.policies.end());
  return *found;
}

const PolicyRatio& ratio(const Simulation& simulation, std::string_view name) {
  const auto found = std::find_if(simulation.ratios.begin(), simulation.ratios.end(),
                                  [name](const PolicyRatio& one) { return one.name == name; });
  REQUIRE(found != simulation.ratios.end());
  return *found;
}

doctest::Approx about(double value) {
  return doctest::Approx(value).epsilon(kTolerance);
}

double samples(const Simulation& simulation, std::string_view name) {
  return ratio(simulation, name).samples->mean;
}

// How many times longer the second policy takes to the same goal.
double speedup(const Simulation& simulation, std::string_view name) {
  return 1 / ratio(simulation, name).jct_s->mean;
}

}  // namespace

TEST_CASE("published simulation: a node lost every 5 minutes, GPT-S and GPT-L" *
          doctest::test_suite("release-only")) {
  if (!has_shared_data()) return;
  const Simulation small = simulate_config("controlled-5min-gpt-s");
  CHECK(outcome(small, "lazarus").mean(TrialMetric::kSteps) == about(2926));
  CHECK(samples(small, "lazarus/ds") == about(2.85));
  CHECK(samples(small, "lazarus/ds_ft") == about(1.6));
  const Simulation large = simulate_config("controlled-5min-gpt-l");
  CHECK(outcome(large, "lazarus").mean(TrialMetric::kSteps) == about(1996));
  CHECK(samples(large, "lazarus/ds") == about(5.49));
  CHECK(samples(large, "lazarus/ds_ft") == about(3.15));
}

TEST_CASE("published simulation: a node lost every 40 minutes, GPT-S and GPT-L" *
          doctest::test_suite("release-only")) {
  if (!has_shared_data()) return;
  const Simulation small = simulate_config("controlled-40min-gpt-s");
  CHECK(samples(small, "lazarus/ds") == about(1.61));
  CHECK(samples(small, "lazarus/ds_ft") == about(1.69));
  const Simulation large = simulate_config("controlled-40min-gpt-l");
  CHECK(samples(large, "lazarus/ds") == about(2.49));
  CHECK(samples(large, "lazarus/ds_ft") == about(2.66));
}

TEST_CASE("published simulation: GPT-M without failures, samples a second" *
          doctest::test_suite("release-only")) {
  if (!has_shared_data()) return;
  const Simulation simulation = simulate_config(
      "controlled-5min-gpt-m", {{"/failures/every_s", "86400"}, {"/duration_s", "1800"}, {"/trials", "1"}});
  const auto rate = [&](std::string_view name) {
    const PolicyOutcome& policy = outcome(simulation, name);
    return policy.mean(TrialMetric::kSamples) / policy.time_s[index(TimeBucket::kProductive)].mean;
  };
  CHECK(rate("lazarus") == about(45));
  CHECK(rate("ds") == about(33.3));
}

TEST_CASE("published simulation: 80 minutes of the p3 spot fleet" * doctest::test_suite("release-only")) {
  if (!has_shared_data()) return;
  const Simulation small = simulate_config("spot-p3-gpt-s");
  CHECK(samples(small, "lazarus/ds") == about(1.63));
  CHECK(samples(small, "lazarus/ds_ft") == about(1.29));
  CHECK(outcome(small, "lazarus").mean(TrialMetric::kRestarts) == 2);
  const Simulation large = simulate_config("spot-p3-gpt-l");
  CHECK(samples(large, "lazarus/ds") == about(2.96));
  CHECK(samples(large, "lazarus/ds_ft") == about(2.47));
  CHECK(outcome(large, "lazarus").mean(TrialMetric::kRestarts) == 1);
}

TEST_CASE("published simulation: 16 A10G against Tutel, any failures and ideal ones" *
          doctest::test_suite("release-only")) {
  if (!has_shared_data()) return;
  const Simulation small = simulate_config("tutel-5min-gpt-s");
  CHECK(samples(small, "lazarus/tutel") == about(4.29));
  CHECK(samples(small, "lazarus/tutel_ft") == about(2.07));
  const Simulation large = simulate_config("tutel-5min-gpt-l");
  CHECK(samples(large, "lazarus/tutel") == about(6.26));
  CHECK(samples(large, "lazarus/tutel_ft") == about(3.27));
  CHECK(samples(simulate_config("tutel-ideal-gpt-s"), "lazarus/tutel_ft") == about(1.74));
  CHECK(samples(simulate_config("tutel-ideal-gpt-l"), "lazarus/tutel_ft") == about(2.51));
}

TEST_CASE("published simulation: DeepSeek-V3 on 256 and 512 GPUs" * doctest::test_suite("release-only")) {
  struct Row {
    const char* gpus;
    const char* p;
    double ds_ft;
    double ds;
  };
  for (const Row& row :
       {Row{"512", "0.01", 2.91, 3.68}, Row{"512", "0.15", 4.96, 23.9}, Row{"256", "0.05", 3.25, 5.36}}) {
    CAPTURE(std::string(row.gpus));
    CAPTURE(std::string(row.p));
    const Simulation simulation =
        simulate_config(std::string("deepseek-v3-") + row.gpus, {{"/failures/loss_probability", row.p}});
    CHECK(speedup(simulation, "lazarus/ds_ft") == about(row.ds_ft));
    CHECK(speedup(simulation, "lazarus/ds") == about(row.ds));
  }
}

TEST_CASE("published simulation: elastic recovery is worse than a restart above 174 s to regroup" *
          doctest::test_suite("release-only")) {
  if (!has_shared_data()) return;
  const auto at = [](const char* regroup_s) {
    const Simulation simulation =
        simulate_config("crossover-gpt-s", {{"/policies/elastic/migration/regroup_s", regroup_s}});
    return 1 / samples(simulation, "restart/elastic");
  };
  CHECK(at("165") > 1);
  CHECK(at("185") < 1);
  CHECK(at("948") == about(0.728));
}

}  // namespace goodput
