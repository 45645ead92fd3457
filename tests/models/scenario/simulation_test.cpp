// Simulations as a whole: all policies over the same failures, whatever the number of threads.
#include "models/scenario/simulation.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/failure_case.h"
#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

Scenario scenario_of(const std::vector<ScenarioPolicy>& policies) {
  Scenario scenario;
  scenario.file = "s.json";
  scenario.plan = gpt_s_plan(10);
  scenario.duration = std::chrono::hours{3};
  scenario.failures =
      failures_from(R"({"model": "exponential", "nodes": 11, "mtbf_hours": 4, "repair_s": 900})");
  scenario.policies = policies;
  return scenario;
}

std::vector<ScenarioPolicy> all_policies() {
  std::vector<ScenarioPolicy> policies;
  for (const PolicyInfo& info : recovery_policies())
    policies.push_back({std::string(info.name), std::string(info.name), "{}"});
  return policies;
}

Result<Simulation> try_simulation(const Scenario& scenario, const SimulationOptions& options) {
  const JobPointer job = gpt_s(10, JobStart::kCold);
  return simulate(scenario, {job.get(), {}, {}}, options);
}
Simulation simulation_of(const Scenario& scenario, const SimulationOptions& options) {
  auto simulation = try_simulation(scenario, options);
  REQUIRE_MESSAGE(simulation, (simulation ? "" : simulation.error().message()));
  return *std::move(simulation);
}

std::string text_of(const Estimate& estimate) {
  return estimate.interval
             ? fmt::format("{} [{}, {}]", estimate.mean, (*estimate.interval)[0], (*estimate.interval)[1])
             : fmt::format("{}", estimate.mean);
}
std::string text_of(const PolicyOutcome& outcome) {
  std::string text = outcome.name;
  for (const std::optional<Estimate>& one : outcome.estimates) text += " " + (one ? text_of(*one) : "none");
  for (const Estimate& one : outcome.time_s) text += " " + text_of(one);
  for (const Estimate& one : outcome.node_time_s) text += " " + text_of(one);
  for (const auto& [name, value] : outcome.metrics) text += " " + name + " " + text_of(value);
  return text;
}

std::string problem(const Scenario& scenario) {
  const auto simulation = try_simulation(scenario, {});
  return simulation ? "" : simulation.error().message();
}

}  // namespace

TEST_CASE("simulation: results do not depend on the number of threads" * doctest::test_suite("slow")) {
  const Scenario scenario = scenario_of(all_policies());
  const Simulation one = simulation_of(scenario, {.seed = 3, .trials = 13, .jobs = 1, .progress = {}});
  for (const unsigned jobs : {2U, 5U, 40U}) {
    const Simulation many = simulation_of(scenario, {.seed = 3, .trials = 13, .jobs = jobs, .progress = {}});
    for (std::size_t i = 0; i < one.policies.size(); ++i)
      CHECK(text_of(many.policies[i]) == text_of(one.policies[i]));
    for (std::size_t i = 0; i < one.ratios.size(); ++i)
      CHECK(text_of(*many.ratios[i].samples) == text_of(*one.ratios[i].samples));
  }
}

TEST_CASE("simulation: a policy does not notice its rivals") {
  const Simulation together =
      simulation_of(scenario_of(all_policies()), {.seed = 3, .trials = 5, .progress = {}});
  for (const PolicyOutcome& outcome : together.policies) {
    const Simulation alone = simulation_of(scenario_of({{outcome.name, outcome.policy, "{}"}}),
                                           {.seed = 3, .trials = 5, .progress = {}});
    CHECK(text_of(alone.policies[0]) == text_of(outcome));
    CHECK(alone.ratios.empty());
  }
}

TEST_CASE("simulation: policies face the same failures, trials and seeds others") {
  const Simulation one = simulation_of(scenario_of(all_policies()), {.seed = 3, .trials = 5, .progress = {}});
  for (const PolicyOutcome& outcome : one.policies) {
    CHECK(outcome.mean(TrialMetric::kNodesLost) == one.policies[0].mean(TrialMetric::kNodesLost));
    CHECK((*outcome.estimate(TrialMetric::kNodesLost)->interval)[0] < outcome.mean(TrialMetric::kNodesLost));
  }
  const Simulation other =
      simulation_of(scenario_of(all_policies()), {.seed = 4, .trials = 5, .progress = {}});
  CHECK(other.policies[0].mean(TrialMetric::kNodesLost) != one.policies[0].mean(TrialMetric::kNodesLost));
}

TEST_CASE("simulation: ratios are of every policy to every later one") {
  const Simulation simulation =
      simulation_of(scenario_of({{"a", "lazarus", "{}"}, {"b", "ds", "{}"}, {"c", "pec", "{}"}}),
                    {.trials = 4, .progress = {}});
  REQUIRE(simulation.ratios.size() == 3);
  CHECK(simulation.ratios[0].name == "a/b");
  CHECK(simulation.ratios[1].name == "a/c");
  CHECK(simulation.ratios[2].name == "b/c");
  CHECK(simulation.policies[1].name == "b");
  CHECK(simulation.policies[1].policy == "ds");
  CHECK_FALSE(simulation.ratios[0].jct_s);  // nobody had a goal
}

TEST_CASE("simulation: both views of time add up in the mean") {
  const Simulation simulation = simulation_of(scenario_of(all_policies()), {.trials = 7, .progress = {}});
  for (const PolicyOutcome& outcome : simulation.policies) {
    double time = 0;
    for (const Estimate& bucket : outcome.time_s) time += bucket.mean;
    CHECK(time == doctest::Approx(outcome.mean(TrialMetric::kWall)).epsilon(1e-9));
    double node_time = 0;
    for (const Estimate& bucket : outcome.node_time_s) node_time += bucket.mean;
    double of_first = 0;
    for (const Estimate& bucket : simulation.policies[0].node_time_s) of_first += bucket.mean;
    CHECK(node_time == doctest::Approx(of_first).epsilon(1e-9));  // nodes are held for all alike
  }
}

TEST_CASE("simulation: progress counts all runs, in order") {
  std::vector<std::uint64_t> seen;
  SimulationOptions options{.trials = 50, .jobs = 3, .progress = {}};
  options.progress = [&seen](std::uint64_t runs) { seen.push_back(runs); };
  (void)simulation_of(scenario_of({{"ds", "ds", "{}"}, {"pec", "pec", "{}"}}), options);
  std::vector<std::uint64_t> every(100);
  std::iota(every.begin(), every.end(), 1);
  CHECK(seen == every);
}

TEST_CASE("simulation: a recorded run is the one that the simulation counts") {
  const Scenario scenario = scenario_of({{"lazarus", "lazarus", "{}"}});
  const JobPointer job = gpt_s(10, JobStart::kCold);
  const auto log = record_run(scenario, {job.get(), {}, {}}, scenario.policies[0], 3, 0);
  REQUIRE(log);
  const Simulation simulation = simulation_of(scenario, {.seed = 3, .trials = 1, .progress = {}});
  double trained = 0;
  for (const JobSpan& span : log->spans) trained += static_cast<double>(span.steps);
  CHECK(trained == simulation.policies[0].mean(TrialMetric::kSteps) +
                       simulation.policies[0].mean(TrialMetric::kStepsLost));
  CHECK(log->spans.back().end == SimTime{std::chrono::hours{3}});
}

TEST_CASE("simulation: what cannot be is said with its place") {
  CHECK(problem(scenario_of({{"mine", "ds", R"({"ep": 3})"}})) ==
        "s.json /policies/mine/ep: is 3, which does not divide the model's 8 experts");
  Scenario no_nodes = scenario_of({{"ds", "ds", "{}"}});
  no_nodes.failures = failures_from(R"({"model": "bursts", "kind": "fleet", "per_hour": 1, "outage_s": 9})");
  CHECK(problem(no_nodes).starts_with("s.json /failures"));
  CHECK_FALSE(record_run(no_nodes, {gpt_s().get(), {}, {}}, {"ds", "ds", R"({"ep": 3})"}, 0, 0));
}

TEST_CASE("simulation: a policy that cannot run the job says why, and the others run") {
  const Simulation simulation =
      simulation_of(scenario_of({{"mine", "ds", R"({"ep": 3})"}, {"a", "lazarus", "{}"}, {"b", "ds", "{}"}}),
                    {.trials = 2, .jobs = 2, .progress = {}});
  const PolicyOutcome& refused = simulation.policies[0];
  CHECK(refused.refused == "s.json /policies/mine/ep: is 3, which does not divide the model's 8 experts");
  CHECK(refused.trials == 0);
  CHECK_FALSE(refused.estimate(TrialMetric::kSamples));
  CHECK(simulation.trials[0].empty());
  CHECK(simulation.policies[1].refused == "");
  CHECK(simulation.policies[2].mean(TrialMetric::kSamples) > 0);
  REQUIRE(simulation.ratios.size() == 1);
  CHECK(simulation.ratios[0].name == "a/b");
}

TEST_CASE("simulation: efficiency is 1 where the plan runs all the time on the nodes that are paid for") {
  Scenario scenario = scenario_of({{"checkpoint", "checkpoint", R"({"checkpoint": {"interval_steps": 0}})"}});
  scenario.failures = failures_from(R"({"model": "exponential", "nodes": 10, "mtbf_hours": 1e9})");
  const JobPointer job = gpt_s(10, JobStart::kRunning);
  const auto efficiency = [&](const char* nodes) {
    scenario.failures =
        failures_from(fmt::format(R"({{"model": "exponential", "nodes": {}, "mtbf_hours": 1e9}})", nodes));
    const auto simulation = simulate(scenario, {job.get(), {}, {}}, {.trials = 1, .progress = {}});
    REQUIRE(simulation);
    CHECK(simulation->policies[0].mean(TrialMetric::kGoodput) > 0.999);
    return simulation->policies[0].mean(TrialMetric::kEfficiency);
  };
  // Up to the last step, which the end of the three hours cuts short.
  CHECK(efficiency("10") == doctest::Approx(1).epsilon(1e-3));
  CHECK(efficiency("25") == doctest::Approx(0.4).epsilon(1e-3));  // 15 nodes are paid for and idle
}

TEST_CASE("simulation: trials that cannot go on say why, and how many there were") {
  Scenario scenario = scenario_of({{"hot_spare", "hot_spare", "{}"}});
  scenario.duration = SimDuration{};
  scenario.steps = 1'000'000;
  scenario.failures =  // none comes back
      failures_from(R"({"model": "interval", "nodes": 10, "every_s": 300})");
  const Simulation simulation = simulation_of(scenario, {.trials = 3, .progress = {}});
  REQUIRE(simulation.policies[0].stopped.size() == 1);
  CHECK(simulation.policies[0].stopped.begin()->first ==
        "the job needs 10 nodes, has 0, and no more node changes are coming");
  CHECK(simulation.policies[0].stopped.begin()->second == 3);
  CHECK(simulation.policies[0].finished == 0);
}

}  // namespace goodput::testing
