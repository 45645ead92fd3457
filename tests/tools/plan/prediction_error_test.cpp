// Which layouts a planner cannot tell from the best one.
#include "tools/plan/prediction_error.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/planner/plan_search.h"
#include "models/planner/uncertain_input.h"
#include "sim/base/json.h"
#include "tools/plan/plan_answer.h"

namespace goodput {
namespace {

using doctest::Approx;

PlanQuestion question_of(std::vector<config::Change> changes) {
  const std::vector<config::Change> all = {
      {"/model", "llama3-70b"},     {"/cluster", "dgx-h100"}, {"/gpus", "64"},
      {"/tokens", "1e9"},           {"/batch", "128"},        {"/sequence_length", "8192"},
      {"/usd_per_node_hour", "20"}, {"/failures", "rsc-1"},   {"/policies", R"({"checkpoint": {}})"},
      {"/spares", "[0]"},           {"/intervals", "[1]"},    {"/max_trials", "16"}};
  changes.insert(changes.begin(), all.begin(), all.end());
  auto question = read_plan_question("", changes, {.folders = {GOODPUT_CONFIGS}});
  REQUIRE_MESSAGE(question, question.error().message());
  return *std::move(question);
}

RankedPlan ranked(std::int32_t tp, std::int32_t zero, double seconds) {
  RankedPlan plan;
  plan.parallel.tp = tp;
  plan.parallel.zero = zero;
  plan.step = from_seconds(seconds);
  return plan;
}

}  // namespace

TEST_CASE("prediction error: layouts whose ranges overlap the best's are named, once each, fastest first") {
  TrainingPlan plan;
  plan.cluster.gpu.name = "H100";
  // TP/PP steps are within -10 % and +10 %, FSDP steps take up to 30 % more.
  const auto family = [](Parallelism parallelism, double low, double high) {
    return LeftOutRows{{parallelism, GpuGeneration::kH100, StepPrecision::k16Bit}, {low, 1, 1, 1, high}};
  };
  plan.stack.left_out = {family(Parallelism::kTpPp, 0.9, 1.1), family(Parallelism::kFsdp, 1, 1.3)};
  const RankedPlan best = ranked(4, 1, 10);  // 9 s to 11 s
  RankedPlan same_layout = ranked(4, 1, 10.1);
  same_layout.parallel.micro_batch = 2;
  const std::vector<RankedPlan> found = {best,
                                         ranked(8, 1, 12.3),
                                         same_layout,
                                         ranked(2, 1, 12.1),
                                         ranked(1, 3, 8.2),   // 8.2 s to 10.7 s: overlaps
                                         ranked(2, 3, 6.9)};  // at most 8.97 s: surely faster
  const auto within = layouts_within_error(plan, best.parallel, found);
  // 12.1 s is at least 10.89 s, 12.3 s at least 11.07 s.
  REQUIRE(within.size() == 2);
  CHECK(within[0].parallel.zero == 3);
  CHECK(within[0].parallel.tp == 1);
  CHECK(within[1].parallel.tp == 2);
  const RangedStep step = ranged_step(plan, found[4]);
  CHECK(step.low_s == Approx(8.2));
  CHECK(step.high_s == Approx(8.2 * 1.3));
  CHECK(layouts_within_error(plan, ranked(16, 1, 1).parallel, found).empty());
}

// NVIDIA measured TP 4 x PP 4 x CP 2 with VPP 5 at 14.61 s.
TEST_CASE(
    "prediction error: under NeMo, 70B on 64 H100 as TP 4 x PP 4 x CP 2 is ahead of every ZeRO-3 layout") {
  const PlanQuestion question = question_of({{"/stack", "nemo"}});
  const auto answer =
      answer_question(question, {.seed = 0, .jobs = 2, .has_sensitivity = false, .on_phase = {}});
  REQUIRE(answer);
  REQUIRE(answer->best_layout);
  const auto is_pipelined = [](const RankedPlan& plan) {
    return plan.parallel.tp == 4 && plan.parallel.pp == 4 && plan.parallel.cp == 2 && plan.parallel.zero < 3;
  };
  const auto found = std::ranges::find_if(answer->within_prediction_error, is_pipelined);
  REQUIRE((found != answer->within_prediction_error.end() || is_pipelined(*answer->best_layout)));
  for (const RankedPlan& plan : answer->within_prediction_error) {
    if (plan.parallel.zero == 3) CHECK(plan.step > found->step);
    const RangedStep step = ranged_step(question.plan, plan);
    CHECK((step.high_s - step.low_s) / 2 <= 0.12 * step.seconds);
  }
  CHECK(answer->best_layout->parallel.zero < 3);
  CHECK(to_seconds(found->step) == Approx(14.61).epsilon(0.03));
}

TEST_CASE("uncertain inputs: the step times of each family are varied by themselves, by their own range") {
  PlanQuestion question = question_of({});
  const StepFamily fsdp = {Parallelism::kFsdp, GpuGeneration::kH100, StepPrecision::k16Bit};
  const StepFamily pipelined = {Parallelism::kTpPp, GpuGeneration::kH100, StepPrecision::k16Bit};
  std::vector<UncertainInput> of_steps;
  for (UncertainInput& input : uncertain_inputs(question, {.families = {fsdp, pipelined}})) {
    if (input.name.starts_with("step time")) of_steps.push_back(std::move(input));
  }
  REQUIRE(of_steps.size() == 2);
  CHECK(of_steps[0].name == "step time, FSDP on H100 in 16 bit");
  const StepRange range = range_for(question.plan.stack, fsdp);
  CHECK(of_steps[0].least == range.low);
  CHECK(of_steps[0].most == range.high);
  // Prices of the family rise; those of the other stay.
  const auto scaled = of_steps[0].scaled(question, 1.25);
  REQUIRE(scaled);
  TrainingPlan plan = scaled->plan;
  plan.parallel.zero = 3;
  CHECK(cost_inputs(plan).slowdown == 1.25);
  plan.parallel.zero = 1;
  CHECK(cost_inputs(plan).slowdown == 1);
}

TEST_CASE(
    "uncertain inputs: how fast Tutel's kernels are is one, unless the question gives a measured value") {
  const auto speedup_of = [](const std::string& policies, const std::set<std::string>& compared) {
    const PlanQuestion question = question_of({{"/model", "mixtral-8x7b"}, {"/policies", policies}});
    std::optional<UncertainInput> speedup;
    for (UncertainInput& input : uncertain_inputs(question, {.policies = compared})) {
      if (input.name == "moe_speedup") speedup = std::move(input);
    }
    return speedup;
  };
  const auto unstated = speedup_of(R"({"tutel": {}, "ds": {}})", {"tutel", "ds"});
  REQUIRE(unstated);
  CHECK(unstated->value == 1);
  CHECK(unstated->least == 1);
  CHECK(unstated->most == 1.5);
  CHECK(unstated->tier == Tier::kAssumed);
  const auto assumed = speedup_of(R"({"mine": {"policy": "tutel_ft", "moe_speedup": 1.2}})", {"mine"});
  REQUIRE(assumed);
  CHECK(assumed->value == 1.2);
  CHECK(assumed->least == 1 / 1.2);
  CHECK(assumed->most == 1.5 / 1.2);
  CHECK_FALSE(speedup_of(R"({"tutel": {"moe_speedup": 1.3, "tier": "measured"}})", {"tutel"}));
  CHECK_FALSE(speedup_of(R"({"tutel": {}, "ds": {}})", {"ds"}));
  const PlanQuestion question =
      question_of({{"/model", "mixtral-8x7b"}, {"/policies", R"({"tutel": {}, "ds": {"ep": 2}})"}});
  const auto scaled = unstated->scaled(question, 1.5);
  REQUIRE(scaled);
  for (std::size_t i = 0; i < 2; ++i) {
    const Json options = Json::parse(scaled->policies[i].options);
    CHECK(options == (scaled->policies[i].name == "tutel" ? Json{{"moe_speedup", 1.5}} : Json{{"ep", 2}}));
  }
}

TEST_CASE("plan question: keys that depend on searched ones are not said to have no effect") {
  const PlanQuestion question =
      question_of({{"/parallel", R"({"reshard_after_forward": "never", "overlap_cp": true})"},
                   {"/search", R"({"zero": [3], "cp": [2]})"}});
  CHECK(question.unused.empty());
}

}  // namespace goodput
