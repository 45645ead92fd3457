// When there are trials enough.
#include "models/sweep/stopping_rule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/scenario/sample_moments.h"

namespace goodput {
namespace {

std::string rule_problem(const std::string& text) {
  const auto rule = StoppingRule::parse(text);
  return rule ? "" : rule.error().what;
}

std::vector<TrialSummary> trials_of_cost(const std::vector<double>& costs) {
  std::vector<TrialSummary> trials;
  for (const double cost : costs) {
    TrialSummary trial;
    trial.cost_usd = cost;
    trials.push_back(trial);
  }
  return trials;
}

// 100 ± 1, by turns.
std::vector<double> by_turns(std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(i % 2 == 0 ? 99 : 101);
  return values;
}

}  // namespace

TEST_CASE("stopping rule: a metric, perhaps of two policies, and a percentage") {
  const StoppingRule cost = StoppingRule::parse("cost±0.2%").value();
  CHECK(cost.metric() == TrialMetric::kCost);
  CHECK(cost.policies().empty());
  CHECK(StoppingRule::parse("cost+-0.2%").value().text() == "cost±0.2%");
  CHECK(StoppingRule::parse("jct_s ± 1.5 %").value().text() == "jct_s±1.5%");
  const StoppingRule ratio = StoppingRule::parse("samples_per_hour:a/b/c±5%").value();
  CHECK(ratio.policies() == "a/b/c");
  CHECK(ratio.text() == "samples_per_hour:a/b/c±5%");
}

TEST_CASE("stopping rule: what is none") {
  CHECK(rule_problem("cost") ==
        "\"cost\" is not a valid rule: expected METRIC±X% or METRIC:A/B±X%, for example cost±0.2%");
  CHECK(rule_problem("cost±0.2") ==
        "\"cost±0.2\" is not a valid rule: expected METRIC±X% or METRIC:A/B±X%, for example cost±0.2%");
  CHECK(rule_problem("cost:a±1%") ==
        "\"cost:a±1%\" is not a valid rule: expected METRIC±X% or METRIC:A/B±X%, for example cost±0.2%");
  CHECK(rule_problem("cost±0%") == "the percentage must be above 0 and at most 100, not \"0\"");
  CHECK(rule_problem("cost±x%") == "the percentage must be above 0 and at most 100, not \"x\"");
  CHECK(rule_problem("costs±1%").starts_with("unknown metric \"costs\"; did you mean \"cost\"?"));
}

TEST_CASE("stopping rule: reached once half the interval is within the percentage of the mean") {
  // 20 values, 100 ± 1 by turns: standard deviation sqrt(20 / 19), of the mean sqrt(1 / 19), t = 2.093.
  const auto trials = trials_of_cost(by_turns(20));
  const double half = student_t(20) / std::sqrt(19.0);
  const StoppingRule wide = StoppingRule::parse("cost±0.5%").value();
  const Estimate estimate = wide.estimate(trials).value();
  CHECK(wide.excess(estimate) == doctest::Approx(half / 0.5));
  CHECK(wide.is_reached(estimate));
  const StoppingRule narrow = StoppingRule::parse("cost±0.4%").value();
  CHECK_FALSE(narrow.is_reached(estimate));
  CHECK(narrow.shortfall(estimate) == "cost is known only to ±0.48 %, but must be known to ±0.4 %");
}

TEST_CASE("stopping rule: the same in every trial is exact") {
  const StoppingRule rule = StoppingRule::parse("cost±0.001%").value();
  CHECK(rule.is_reached(rule.estimate(trials_of_cost({5, 5, 5})).value()));
  CHECK(rule.is_reached(rule.estimate(trials_of_cost({0, 0, 0})).value()));
}

TEST_CASE("stopping rule: what a single trial, or a skewed lot of them, says is not relied on") {
  const StoppingRule rule = StoppingRule::parse("cost±100%").value();
  CHECK_FALSE(rule.is_reached(rule.estimate(trials_of_cost({5})).value()));
  CHECK(rule.shortfall(rule.estimate(trials_of_cost({5}))) ==
        "the confidence interval of cost is still unbounded, but must be within ±100 %");
  std::vector<double> skewed(30, 10.0);
  skewed[7] = 40;
  const Estimate estimate = rule.estimate(trials_of_cost(skewed)).value();
  CHECK(rule.excess(estimate) < 1);
  CHECK_FALSE(rule.is_reached(estimate));
  CHECK(rule.shortfall(estimate) == "the values of cost are still too skewed for ±100 % to be reliable");
}

TEST_CASE("stopping rule: a trial without the value leaves nothing to estimate") {
  auto trials = trials_of_cost(by_turns(20));
  trials[3].cost_usd.reset();
  const StoppingRule rule = StoppingRule::parse("cost±1%").value();
  CHECK_FALSE(rule.estimate(trials));
  CHECK(rule.shortfall({}) == "cost has no value in some trials, so more trials cannot make it precise");
}

TEST_CASE("stopping rule: the ratio of policies is exact where the failures do the same to both") {
  // a is twice b, trial by trial: the ratio is 2, though neither mean is known within a percent.
  const std::vector<double> costs = {50, 150, 80, 120, 100, 60, 140, 90, 110, 100};
  std::vector<double> twice;
  for (const double cost : costs) twice.push_back(2 * cost);
  const StoppingRule rule = StoppingRule::parse("cost:a/b±0.1%").value();
  const Estimate ratio = rule.estimate(trials_of_cost(twice), trials_of_cost(costs)).value();
  CHECK(ratio.mean == doctest::Approx(2));
  CHECK(rule.is_reached(ratio));
}

}  // namespace goodput
