#include "models/scenario/policy_comparison.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace goodput {
namespace {

TrialSummary run_of(double hours, double usd, bool finished = true) {
  TrialSummary trial;
  trial.finished = finished;
  trial.samples = 100;
  trial.wall_s = 3600 * hours;
  trial.horizon_s = trial.wall_s;
  trial.cost_usd = usd;
  return trial;
}

// Policy a always takes an hour less than b, and costs as much in the mean.
Simulation two_policies() {
  Simulation simulation;
  for (const char* name : {"a", "b", "c"}) {
    PolicyOutcome outcome;
    outcome.name = name;
    simulation.policies.push_back(outcome);
  }
  simulation.policies[2].refused = "it has no experts";
  simulation.trials = {
      {run_of(3, 10), run_of(5, 30), run_of(4, 20)}, {run_of(4.01, 12), run_of(6, 29), run_of(5, 22)}, {}};
  return simulation;
}

PolicyComparison compared(const Simulation& simulation, const char* a, const char* b, TrialMetric metric) {
  auto comparison = compare_policies(simulation, a, b, metric);
  REQUIRE_MESSAGE(comparison, (comparison ? "" : comparison.error().message()));
  return *std::move(comparison);
}

std::string problem(const char* a, const char* b) {
  const auto comparison = compare_policies(two_policies(), a, b, TrialMetric::kCost);
  return comparison ? "" : comparison.error().message();
}

}  // namespace

TEST_CASE("policy comparison: trials scatter by hours, and the difference by seconds, which decides") {
  const PolicyComparison jct = compared(two_policies(), "a", "b", TrialMetric::kJct);
  CHECK(jct.values->difference.mean == doctest::Approx(-3600 * 3.01 / 3));
  CHECK(jct.values->decides);
  CHECK(jct.better() == "a");
  CHECK(compared(two_policies(), "b", "a", TrialMetric::kJct).better() == "a");
  CHECK(compared(two_policies(), "a", "b", TrialMetric::kSamplesPerHour).values->difference.mean > 0);
}

TEST_CASE("policy comparison: what three trials do not decide takes more") {
  // -2, 1, -2: -1 with a standard deviation of sqrt(3).
  const PolicyComparison cost = compared(two_policies(), "a", "b", TrialMetric::kCost);
  CHECK(cost.values->difference.mean == -1);
  CHECK_FALSE(cost.values->decides);
  CHECK(cost.better() == "");
  CHECK(*cost.values->more_trials == 12);  // of 15 t = 2.145: 2.145 sqrt(3 / 15) = 0.96; of 14 2.160: 1.0001
}

TEST_CASE("policy comparison: what has no value is said") {
  Simulation simulation = two_policies();
  simulation.trials[1][1].finished = false;
  simulation.policies[1].finished = 2;
  simulation.policies[1].trials = 3;
  CHECK(compared(simulation, "a", "b", TrialMetric::kJct).why_not ==
        "b finished 2 of 3 trials; compare samples_per_hour instead");
  simulation.trials[1][1].horizon_s.reset();
  CHECK(compared(simulation, "a", "b", TrialMetric::kSamplesPerHour).why_not ==
        "b stopped for good in a run without an end");
  simulation.trials[0][0].cost_usd.reset();
  CHECK(compared(simulation, "a", "b", TrialMetric::kCost).why_not == "a has no cost");
  CHECK(compared(simulation, "a", "c", TrialMetric::kSteps).why_not == "c cannot run the job");
  CHECK_FALSE(compared(simulation, "a", "c", TrialMetric::kSteps).values);
}

TEST_CASE("policy comparison: who meets a deadline, where it is known of every trial") {
  Simulation simulation = two_policies();
  CHECK(compared(simulation, "a", "b", TrialMetric::kDeadline).why_not == "the scenario has no deadline_s");
  for (std::size_t policy = 0; policy < 2; ++policy) {
    simulation.policies[policy].trials = 3;
    simulation.policies[policy].deadline = DeadlineTrials{3, 0, 0};
    for (TrialSummary& trial : simulation.trials[policy]) trial.deadline = DeadlineOutcome::kMet;
  }
  simulation.trials[1][0].deadline = DeadlineOutcome::kMissed;
  const PolicyComparison known = compared(simulation, "a", "b", TrialMetric::kDeadline);
  CHECK(known.values->a.mean == 1);
  CHECK(known.values->difference.mean == doctest::Approx(1.0 / 3));  // 1, 0, 0
  simulation.trials[1][0].deadline = DeadlineOutcome::kUnknown;
  simulation.policies[1].deadline = DeadlineTrials{2, 0, 1};
  CHECK(compared(simulation, "a", "b", TrialMetric::kDeadline).why_not ==
        "b: the recording of the nodes ends before the deadline in 1 of 3 trials");
}

TEST_CASE("policy comparison: two policies of the simulation it must be") {
  CHECK(problem("a", "d").starts_with("unknown policy \"d\"; "));
  CHECK(problem("b", "b") == "b cannot be compared with itself");
}

}  // namespace goodput
