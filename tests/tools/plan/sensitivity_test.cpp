// What an answer rests on, against what follows from its trials in closed form.
#include "tools/plan/sensitivity.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "tests/tools/plan/small_question.h"
#include "tools/plan/plan_answer.h"
#include "tools/plan/sensitivity_budget.h"

namespace goodput {
namespace {

PlanAnswer looked_at(const PlanQuestion& question) {
  PlanRunOptions options;
  options.jobs = 2;
  auto answer = answer_question(question, options);
  REQUIRE_MESSAGE(answer, answer.error().message());
  return *std::move(answer);
}

const InputSensitivity& input_named(const PlanAnswer& answer, std::string_view name) {
  const auto& inputs = answer.sensitivity.inputs;
  const auto found = std::find_if(inputs.begin(), inputs.end(),
                                  [name](const InputSensitivity& input) { return input.input == name; });
  REQUIRE(found != inputs.end());
  return *found;
}

// One policy, with or without all of its nodes from a spot market where few are lost.
PlanQuestion market_question() {
  return small_question(
      {{"/spot",
        R"({"failures": {"model": "hourly", "loss_probability": 0.002, "return_probability": 0.9}, "usd_per_node_hour": 12, "nodes": [8]})"},
       {"/failures", R"({"model": "exponential", "failures_per_1000_node_days": 5, "repair_s": 3600})"},
       {"/policies", R"({"hot_spare": {}})"},
       {"/spares", "[0]"},
       {"/intervals", "[1]"},
       {"/plans", "1"},
       {"/search", R"({"tp": [1], "pp": [1], "cp": [1], "zero": [3]})"},
       {"/max_trials", "64"}});
}

}  // namespace

TEST_CASE(
    "sensitivity: the price at which a spot market is no longer worth it is where costs are equal, less a "
    "tie") {
  const PlanAnswer answer = looked_at(market_question());
  REQUIRE(answer.best);
  REQUIRE(answer.best->choice.spot_nodes == 8);
  const auto reserved = std::find_if(answer.finishing.begin(), answer.finishing.end(),
                                     [](const PlanOption& option) { return option.choice.spot_nodes == 0; });
  REQUIRE(reserved != answer.finishing.end());
  const InputSensitivity& price = input_named(answer, "spot/usd_per_node_hour");
  // All nodes are of the market: the cost is proportional to its price. The rival is better by half a percent
  // where it costs 99.5 % of that.
  const double factor = reserved->cost_usd->mean / 0.995 / answer.best->cost_usd->mean;
  REQUIRE(factor > 1);
  REQUIRE(price.break_evens.size() == 1);
  const BreakEven& even = price.break_evens.front();
  INFO("expected ", 12 * factor, ", found ", even.value, " in ", even.interval[0], " to ", even.interval[1]);
  CHECK(even.interval[0] <= 12 * factor);
  CHECK(even.interval[1] >= 12 * factor);
  CHECK(even.interval[0] <= even.value);
  CHECK(even.interval[1] >= even.value);
  CHECK(answer.sensitivity.rivals[even.instead].choice.spot_nodes == 0);
}

TEST_CASE("sensitivity: how nodes of a market come and go are inputs if the answer holds some") {
  const PlanAnswer answer = looked_at(market_question());
  const InputSensitivity& losses = input_named(answer, "spot/loss_probability");
  CHECK(losses.value == 0.002);
  const InputSensitivity& returns = input_named(answer, "spot/return_probability");
  REQUIRE(returns.shifts.size() == 2);
  CHECK(returns.shifts[1].value == doctest::Approx(1));  // a probability, not twice 0.9
  const PlanAnswer none = looked_at(small_question({{"/policies", R"({"hot_spare": {}})"},
                                                    {"/spares", "[0]"},
                                                    {"/intervals", "[1]"},
                                                    {"/plans", "1"},
                                                    {"/max_trials", "16"}}));
  CHECK(std::none_of(none.sensitivity.inputs.begin(), none.sensitivity.inputs.end(),
                     [](const InputSensitivity& input) { return input.input.starts_with("spot/"); }));
}

TEST_CASE("sensitivity: a value at which the answer misses its deadline is marked") {
  const PlanQuestion question = small_question({{"/policies", R"({"hot_spare": {}})"},
                                                {"/spares", "[1]"},
                                                {"/intervals", "[1]"},
                                                {"/plans", "1"},
                                                {"/max_trials", "64"},
                                                {"/deadline", "30h@80%"}});
  const PlanAnswer answer = looked_at(question);
  REQUIRE(answer.best);
  const InputSensitivity& failures = input_named(answer, "failures_per_1000_node_days");
  REQUIRE(failures.shifts.size() == 2);
  CHECK(failures.shifts[0].within_limits == true);  // half as many failures
  CHECK(failures.shifts[1].p_deadline);
  CHECK(failures.shifts[1].within_limits == (*failures.shifts[1].p_deadline >= 0.8));
}

TEST_CASE("sensitivity: faster kernels that nobody has measured are an input with a break-even") {
  const PlanAnswer answer = looked_at(small_question({{"/model", "mixtral-8x7b"},
                                                      {"/policies", R"({"ds": {}, "tutel": {}})"},
                                                      {"/search", R"({"tp": [1, 2], "pp": [1], "cp": [1]})"},
                                                      {"/spares", "[1]"},
                                                      {"/intervals", "[1]"},
                                                      {"/plans", "1"},
                                                      {"/max_trials", "64"}}));
  REQUIRE(answer.best);
  CHECK(answer.best->policy == "ds");  // the two are equal
  const InputSensitivity& speedup = input_named(answer, "moe_speedup");
  CHECK(speedup.value == 1);
  REQUIRE(speedup.shifts.size() == 2);
  CHECK(speedup.shifts[1].value == 1.5);
  CHECK(speedup.shifts[1].change == 0);  // ds does not change
  REQUIRE(speedup.shifts[1].instead);
  CHECK(answer.sensitivity.rivals[*speedup.shifts[1].instead].policy == "tutel");
  // To win half a percent takes half a percent of speed if experts are all of the step, more if they are a
  // part; a rounded interval between checkpoints may give a little of it.
  REQUIRE(speedup.break_evens.size() == 1);
  CHECK(speedup.break_evens[0].value > 1.004);
  CHECK(speedup.break_evens[0].value < 1.1);
}

TEST_CASE("sensitivity: when the time is up the inputs that are left are named") {
  PlanRunOptions options;
  int asked = 0;
  options.on_phase = [&asked](PlanPhase phase) { asked = phase == PlanPhase::kSensitivity ? 1 : 0; };
  options.is_out_of_time = [&asked] { return asked > 0 && ++asked > 2; };
  const auto answer = answer_question(market_question(), options);
  REQUIRE(answer);
  CHECK(answer->sensitivity.inputs.size() == 1);
  CHECK(answer->sensitivity.left_out.size() >= 5);
}

TEST_CASE("sensitivity: it takes no more work than the contest, or than a few seconds") {
  const SensitivitySize small = sensitivity_size(9, 0, 40);
  CHECK(small.rivals == 10);
  CHECK(small.trials >= 64);
  // A run of 1000 decisions on 2048 nodes is 9020 units, so that nothing fits: the least.
  TrialSummary trial;
  trial.courses[0] = 1000;
  CHECK(work_of(trial, 2048) == 9020);
  const SensitivitySize least = sensitivity_size(9, 0, 1e6);
  CHECK(least.rivals == 3);
  CHECK(least.trials == 4);
  for (const double contest : {1e7, 1e8, 1e9}) {
    const SensitivitySize size = sensitivity_size(9, contest, work_of(trial, 2048));
    CHECK(size.trials >= least.trials);
    CHECK(sensitivity_size(9, 2 * contest, work_of(trial, 2048)).trials >= size.trials);
  }
}

}  // namespace goodput
