// What spares buy, against the binomial distribution of nodes that are up.
#include <doctest/doctest.h>

#include <cmath>

#include "models/planner/question_scenario.h"
#include "models/scenario/trial_runs.h"
#include "tests/tools/plan/small_question.h"
#include "tools/simulate/scenario_inputs.h"

namespace goodput {
namespace {

// That at most `spares` of `nodes` nodes are down, each with this probability, independently.
double binomial_availability(int nodes, int spares, double down) {
  double sum = 0;
  for (int k = 0; k <= spares; ++k) {
    const double ways = std::lgamma(nodes + 1) - std::lgamma(k + 1) - std::lgamma(nodes - k + 1);
    sum += std::exp(ways + k * std::log(down) + (nodes - k) * std::log1p(-down));
  }
  return sum;
}

}  // namespace

TEST_CASE("spares: a job of 128 nodes has them as often as the binomial distribution says") {
  // 6.5 failures in 1000 node-days, and a day of repair: a node is down for 0.0065 / 1.0065 of its time.
  const double down = 0.0065 / 1.0065;
  const double published[] = {.436, .797, .947, .989};
  PlanQuestion question = small_question({{"/model", "llama3-8b"},
                                          {"/gpus", "1024"},
                                          {"/batch", "1024"},
                                          {"/tokens", "1e18"},
                                          {"/failures", "rsc-1"},
                                          {"/detect_s", "0"},
                                          {"/startup_s", "0"},
                                          {"/swap_s", "0"}});
  ParallelPlan parallel = question.plan.parallel;
  parallel.dp = 128;
  parallel.tp = 8;
  const std::vector<ScenarioPolicy> policies = {{"hot_spare",
                                                 "hot_spare",
                                                 R"({"checkpoint": {"interval_steps": 10,
      "write_gb_per_s": 10000, "read_gb_per_s": 10000}, "restart": {"detect_s": 0, "startup_s": 0}, "swap_s": 0})",
                                                 {}}};
  for (int spares = 0; spares < 4; ++spares) {
    const double expected = binomial_availability(128 + spares, spares, down);
    CHECK(expected == doctest::Approx(published[spares]).epsilon(0.002));
    auto scenario =
        question_scenario(question, {parallel, spares, 0}, policies, from_seconds(4000 * 86400.0));
    REQUIRE_MESSAGE(scenario, scenario.error().message());
    auto inputs = read_scenario_inputs(*scenario, 7);
    REQUIRE(inputs);
    auto runs = TrialRuns::prepare(*scenario, inputs->view(), 7);
    REQUIRE_MESSAGE(runs, runs.error().message());
    REQUIRE(runs->extend(4, 2));
    double waited = 0;
    double wall = 0;
    for (const TrialSummary& trial : runs->trials(0)) {
      waited += trial.waited_s;
      wall += trial.wall_s;
    }
    // 16,000 days, in which the number of nodes that are up forgets itself within a day or so: about 8,000
    // draws of a share of 0.44 leave a standard error of 0.006.
    INFO("spares ", spares, ": ", 1 - waited / wall, " of the time, ", expected, " expected");
    CHECK(std::abs(1 - waited / wall - expected) < 0.02);
  }
}

}  // namespace goodput
