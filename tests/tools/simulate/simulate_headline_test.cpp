#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "models/scenario/simulation.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {
namespace {

PolicyOutcome outcome(const std::string& name, double samples_per_hour, std::optional<double> jct_s = {},
                      std::int64_t trials = 1) {
  PolicyOutcome result;
  result.name = name;
  result.trials = trials;
  const auto set = [&result](TrialMetric metric, double mean) {
    result.estimates[static_cast<std::size_t>(metric)] = Estimate{.mean = mean};
  };
  set(TrialMetric::kSamplesPerHour, samples_per_hour);
  set(TrialMetric::kGoodput, 0.9);
  if (jct_s) set(TrialMetric::kJct, *jct_s);
  return result;
}

PolicyOutcome refused(const std::string& name) {
  PolicyOutcome result;
  result.name = name;
  result.refused = "the model has no experts";
  return result;
}

std::string headline(std::vector<PolicyOutcome> policies, std::vector<PolicyRatio> ratios = {}) {
  Simulation simulation;
  simulation.policies = std::move(policies);
  simulation.ratios = std::move(ratios);
  return simulate_headline(simulation);
}

}  // namespace

TEST_CASE("simulate: the first line names the policy that finishes first and how long the next one takes") {
  CHECK(headline({outcome("a", 100, 4 * 3600.0), outcome("b", 100, 3.2 * 3600)}) ==
        "b finishes after 3.20 h; a takes 1.25x as long.");
  CHECK(headline({outcome("a", 100, 4 * 3600.0, 20), outcome("b", 100, 3.2 * 3600, 20)}) ==
        "b finishes after 3.20 h on average; a takes 1.25x as long.");
}

TEST_CASE(
    "simulate: if no policy reaches the goal in every trial, the first line compares samples per hour") {
  CHECK(headline({outcome("a", 300), outcome("b", 200)}) == "a trains 300 samples/h, 1.50x as many as b.");
  CHECK(headline({outcome("a", 1001), outcome("b", 1000)}) ==
        "a trains 1001 samples/h, about the same as b.");
}

TEST_CASE("simulate: policies that reach the goal come before faster ones that do not") {
  CHECK(headline({outcome("a", 300), outcome("b", 200, 3600), outcome("c", 100, 7200)}) ==
        "b finishes after 60.0 min; c takes 2.00x as long; 1 other does not always reach the goal.");
  CHECK(headline({outcome("a", 300), outcome("b", 200, 3600), outcome("c", 100)}) ==
        "b finishes after 60.0 min; goodput 90.0 %; 2 others do not always reach the goal.");
}

TEST_CASE("simulate: the first line says when the trials do not tell two policies apart") {
  PolicyRatio ratio;
  ratio.name = "b/a";
  ratio.samples_per_hour = Estimate{.mean = 0.9, .interval = {{0.7, 1.1}}};
  CHECK(headline({outcome("b", 270, {}, 2), outcome("a", 300, {}, 2)}, {ratio}) ==
        "a trains 300 samples/h on average; the difference from b is not significant.");
  ratio.samples_per_hour->interval = {{0.8, 0.95}};
  CHECK(headline({outcome("b", 270, {}, 2), outcome("a", 300, {}, 2)}, {ratio}) ==
        "a trains 300 samples/h on average, 1.11x as many as b.");
}

TEST_CASE("simulate: the first line of one policy has its goodput; policies that cannot run are left out") {
  CHECK(headline({outcome("a", 300, 3600.0), refused("b")}) == "a finishes after 60.0 min; goodput 90.0 %.");
  CHECK(headline({refused("b")}) == "No policy can run this job.");
}

}  // namespace goodput
