#include "models/scenario/trial_metrics.h"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "sim/base/registry.h"

namespace goodput {
namespace {

TrialSummary random_trial(RandomStream& random) {
  TrialSummary trial;
  trial.finished = true;
  trial.deadline = random.below(2) == 0 ? DeadlineOutcome::kMet : DeadlineOutcome::kMissed;
  trial.steps = static_cast<double>(random.below(1000));
  trial.samples = 4 * trial.steps;
  trial.wall_s = random.uniform(10, 1000);
  trial.waited_s = random.uniform(0, 9);
  trial.horizon_s = trial.wall_s;
  trial.ideal_node_s = trial.samples / 2;
  trial.cost_usd = random.uniform(1, 50);
  for (double& time : trial.time_s) time = random.uniform(0, 1);
  for (double& time : trial.node_time_s) time = random.uniform(0, 10);
  for (double& count : trial.courses) count = static_cast<double>(random.below(5));
  return trial;
}

}  // namespace

TEST_CASE("trial metrics: the mean of single values is the estimate, for means and for ratios") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "trial metrics");
    std::vector<TrialSummary> trials(2 + random.below(20));
    for (TrialSummary& trial : trials) trial = random_trial(random);
    for (std::size_t i = 0; i < kTrialMetrics.size(); ++i) {
      CAPTURE(std::string(kTrialMetrics[i].name));
      const auto values = values_of(static_cast<TrialMetric>(i), trials);
      const auto estimate = estimate_of(static_cast<TrialMetric>(i), trials);
      REQUIRE((values && estimate));
      REQUIRE(values->size() == trials.size());
      const double sum = std::accumulate(values->begin(), values->end(), 0.0);
      CHECK(sum / static_cast<double>(values->size()) == doctest::Approx(estimate->mean).epsilon(1e-12));
    }
  }
}

TEST_CASE("trial metrics: what not every trial has is not known") {
  std::vector<TrialSummary> trials(2);
  trials[0].finished = true;
  trials[0].cost_usd = 1;
  trials[0].horizon_s = 1;
  for (const TrialMetric metric :
       {TrialMetric::kJct, TrialMetric::kCost, TrialMetric::kSamplesPerUsd, TrialMetric::kSamplesPerHour}) {
    CHECK_FALSE(values_of(metric, trials));
    CHECK_FALSE(estimate_of(metric, trials));
  }
}

TEST_CASE("trial metrics: names are found, and wrong ones answered") {
  for (std::size_t i = 0; i < kTrialMetrics.size(); ++i)
    CHECK(*find_trial_metric(kTrialMetrics[i].name) == static_cast<TrialMetric>(i));
  CHECK(find_trial_metric("costs").error().message().starts_with(
      "unknown metric \"costs\"; did you mean \"cost\"?; known: steps, samples, jct_s, "));
}

}  // namespace goodput
