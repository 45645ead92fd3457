#include "models/planner/plan_timer.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "models/cost/cost_models.h"
#include "models/planner/plan_choice.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "tests/support/random_plan.h"

namespace goodput {
namespace {

using testing::random_plan;
using testing::small_plan;
using testing::to_string;

// Some of what can be done on the plan's GPUs, evenly picked.
std::vector<ParallelPlan> picked_plans(const TrainingPlan& base, std::size_t most) {
  const auto choices = list_choices(base, base.parallel.gpus(), {});
  REQUIRE(choices);
  const PlanMaker maker(base, choices->choices);
  const std::size_t stride = choices->choices.size() / most + 1;
  std::vector<ParallelPlan> plans;
  TrainingPlan plan = base;
  for (std::size_t i = 0; i < choices->choices.size(); i += stride) {
    plan.parallel = maker.plan(choices->choices[i]);
    if (check_training_plan(plan)) plans.push_back(plan.parallel);
  }
  return plans;
}

SimDuration step_alone(const TrainingPlan& base, const ParallelPlan& parallel, const CostModel& cost) {
  TrainingPlan plan = base;
  plan.parallel = parallel;
  const auto step = build_planned_step(plan, cost, Granularity::kLayers, 7);
  REQUIRE(step);
  return step_time(*step);
}

}  // namespace

TEST_CASE(
    "plan timer: plans that share prices and graphs take what each takes alone, and at least its bound" *
    doctest::test_suite("slow")) {
  std::size_t timed = 0;
  for (std::uint64_t seed = 100; seed < 160; ++seed) {
    const TrainingPlan base = random_plan(seed);
    const RooflineCost cost(base.cluster, base.roofline);
    PlanTimer timer(base, cost, 7);
    std::map<FrameKey, std::vector<ParallelPlan>> by_frame;
    TrainingPlan plan = base;
    for (const ParallelPlan& parallel : picked_plans(base, 40)) {
      plan.parallel = parallel;
      by_frame[timer.frame_of(plan)].push_back(parallel);
    }
    for (const auto& [frame, plans] : by_frame) {
      const std::vector<std::optional<SimDuration>> times = timer.step_times(plans);
      for (std::size_t i = 0; i < plans.size(); ++i) {
        plan.parallel = plans[i];
        INFO("seed ", seed, " ", to_string(plan));
        REQUIRE(times[i]);
        CHECK(*times[i] == step_alone(base, plans[i], cost));
        const StepEstimate estimate = timer.estimate(plan);
        CHECK(estimate.can_be_timed);
        CHECK(estimate.at_least_ns <= static_cast<double>(times[i]->count()));
        ++timed;
      }
    }
  }
  CHECK(timed > 1000);
}

TEST_CASE("plan timer: a step of more than 104 days has no time") {
  TrainingPlan plan = small_plan();
  plan.cluster.gpu.bf16 = {1};  // operations a second
  plan.parallel.sequence_length = 1024 * 1024;
  const RooflineCost cost(plan.cluster, plan.roofline);
  PlanTimer timer(plan, cost, 0);
  CHECK_FALSE(timer.estimate(plan).can_be_timed);
  CHECK_FALSE(timer.step_times(std::span(&plan.parallel, 1)).front());
}

TEST_CASE("plan timer: plans of one frame have the same ops") {
  TrainingPlan plan = small_plan();
  const RooflineCost cost(plan.cluster, plan.roofline);
  const PlanTimer timer(plan, cost, 0);
  const FrameKey first = timer.frame_of(plan);
  plan.parallel.tp = 4;
  CHECK(timer.frame_of(plan) == first);
  plan.parallel.micro_batch = 2;  // half as many micro-batches
  CHECK(timer.frame_of(plan) != first);
  plan.parallel.micro_batch = 1;
  plan.parallel.dp = 2;
  plan.parallel.global_batch = 16;  // gradients are reduced
  CHECK(timer.frame_of(plan) != first);
}

}  // namespace goodput
