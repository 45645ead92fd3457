#include "models/planner/step_bound.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <span>

#include "models/planner/plan_timer.h"
#include "models/step/gpu_parameters.h"
#include "models/step/planned_step.h"
#include "models/step/step_frame.h"
#include "models/step/step_report.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_plan.h"

namespace goodput {
namespace {

using testing::random_plan;
using testing::small_plan;
using testing::to_string;

SimDuration step_by_layers(const TrainingPlan& plan, const CostModel& cost) {
  const auto step = build_planned_step(plan, cost, Granularity::kLayers, 7);
  REQUIRE(step);
  return step_time(*step);
}

double bound_of(const TrainingPlan& plan, const CostModel& cost) {
  PlanTimer timer(plan, cost, 7);
  return timer.estimate(plan).at_least_ns;
}

}  // namespace

TEST_CASE("step bound: no step of a random plan is shorter, and most are hardly longer" *
          doctest::test_suite("slow")) {
  double sum = 0;
  int count = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(1500); ++seed) {
    const TrainingPlan plan = random_plan(seed);
    const RooflineCost cost(plan.cluster, plan.roofline);
    const auto step = static_cast<double>(step_by_layers(plan, cost).count());
    const double bound = bound_of(plan, cost);
    CHECK_MESSAGE(bound <= step, fmt::format("seed {} {}: {} > {}", seed, to_string(plan), bound, step));
    CHECK_MESSAGE(bound > 0.5 * step,
                  fmt::format("seed {} {}: {} of {}", seed, to_string(plan), bound, step));
    sum += bound / step;
    ++count;
  }
  MESSAGE(fmt::format("in the mean {:.1f} % of the step", 100 * sum / count));
  CHECK(sum / count > 0.9);
}

TEST_CASE("step bound: 1F1B with equal stages and free communication takes exactly that") {
  TrainingPlan plan = small_plan();
  plan.parallel.pp = 4;
  plan.parallel.global_batch = 12;
  const ScheduleShape shape = schedule_shape(plan.parallel);
  const PipelineSchedule& schedule = **find_schedule("1f1b");
  const StepBound bound(schedule, shape);
  std::vector<double> values(bound.layout().size());
  for (std::int32_t position = 0; position < 4; ++position) {
    values[bound.layout().entry_of(Pass{}, position)] = 2;
    values[bound.layout().entry_of(Pass{.kind = Pass::Kind::kBackward}, position)] = 5;
  }
  const auto features = step_features(plan, schedule);
  CHECK(bound.step(values, features) == (12 + 4 - 1) * (2 + 5));
  const auto frame = StepFrame::build(schedule, shape, features, bound.layout());
  REQUIRE(frame);
  CHECK(frame->step_times(std::span(&values, 1)).front() == SimDuration{105});
}

TEST_CASE("step bound: every reduction that nothing hides is in it") {
  TrainingPlan plan = small_plan();
  plan.model.tied_head = true;
  plan.parallel.dp = plan.parallel.pp = plan.parallel.tp = 2;
  plan.parallel.sequence_parallel = true;
  plan.parallel.zero = 1;
  plan.parallel.global_batch = 4;
  for (const bool overlaps : {false, true}) {
    plan.parallel.overlap_grad_reduce = overlaps;
    const RooflineCost cost(plan.cluster, plan.roofline);
    const double bound = bound_of(plan, cost);
    CHECK(bound == static_cast<double>(step_by_layers(plan, cost).count()));
  }
}

}  // namespace goodput
