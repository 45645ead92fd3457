#include "models/planner/plan_timer.h"

#include <utility>

#include "models/step/fp8_casts.h"
#include "models/step/gpu_parameters.h"
#include "models/step/planned_step.h"
#include "models/step/step_costs.h"
#include "models/step/step_frame.h"
#include "models/step/step_report.h"
#include "models/step/step_routing.h"

namespace goodput {
namespace {

const PipelineSchedule& schedule_run_by(const ParallelPlan& plan) {
  const auto found = find_schedule(plan.schedule);
  GOODPUT_CHECK(found.has_value(), "the schedule of a candidate must exist");
  return **found;
}

std::int64_t number_of_schedule(const ParallelPlan& plan) {
  const PipelineSchedule* const schedule = &schedule_run_by(plan);
  std::int64_t number = 0;
  while (&schedules()[static_cast<std::size_t>(number)].schedule != schedule) ++number;
  return number;
}

// Whether whole passes, of which the slowest rank sets the pace, take as long as passes layer by layer, where
// ranks go on by themselves until they meet.
bool is_exact_by_pass(const BlockPrices& blocks, const PipelineSchedule& schedule) {
  return blocks.ranks() == 1 || (blocks.have_slowest_rank() && schedule.is_recordable());
}

}  // namespace

const PipelineProfile& PlanTimer::profile(const TrainingPlan& plan) {
  const ScheduleShape shape = schedule_shape(plan.parallel);
  const MemoKey<4> key = {number_of_schedule(plan.parallel), shape.stages, shape.chunks, shape.micro_batches};
  return profiles_.at(key, [&] {
    const PipelineSchedule& schedule = schedule_run_by(plan.parallel);
    return PipelineProfile{alive_peaks(schedule, shape), StepBound(schedule, shape)};
  });
}

const BlockPrices& PlanTimer::blocks(const TrainingPlan& plan) {
  const ParallelPlan& parallel = plan.parallel;
  // Of ranks that differ pairs are not timed here.
  const bool has_lanes = plan.expert_load.skew > 0 && parallel.ep > 1;
  const Granularity granularity =
      profile(plan).bound.layout().has_pairs() && !has_lanes ? Granularity::kLayers : Granularity::kOps;
  const MemoKey<10> key = {parallel.tp,
                           parallel.cp,
                           parallel.ep,
                           parallel.expert_tp(),
                           parallel.micro_batch,
                           static_cast<std::int64_t>(parallel.recompute),
                           parallel.micro_batches() > 1 ? 1 : 0,
                           Fp8Casts(parallel).weights_each_pass ? 1 : 0,
                           plan.roofline.speed_spread > 0 ? parallel.gpus() : 0,
                           static_cast<std::int64_t>(granularity)};
  return blocks_.at(key, [&] { return BlockPrices(plan, cost_, drawn_routing(plan, seed_), granularity); });
}

StepEstimate PlanTimer::estimate(const TrainingPlan& plan) {
  const PipelineSchedule& schedule = schedule_run_by(plan.parallel);
  const BlockPrices& prices = blocks(plan);
  const StepCosts costs = compute_step_costs(plan, schedule, cost_, {}, prices);
  if (!(costs.priced_s <= kLongestStepS)) return {.tier = costs.tier, .can_be_timed = false};
  const StepBound& bound = profile(plan).bound;
  const std::vector<double> values =
      is_exact_by_pass(prices, schedule) ? bound.layout().values(costs) : bound.layout().least_values(costs);
  return {.at_least_ns = bound.step(values, step_features(plan, schedule)), .tier = costs.tier};
}

std::optional<SimDuration> PlanTimer::time_alone(const TrainingPlan& plan) const {
  const auto step = build_planned_step(plan, cost_, Granularity::kLayers, seed_);
  if (!step) return std::nullopt;
  return step_time(*step);
}

FrameKey PlanTimer::frame_of(const TrainingPlan& plan) const {
  const ScheduleShape shape = schedule_shape(plan.parallel);
  const megatron::StepFeatures features = step_features(plan, schedule_run_by(plan.parallel));
  std::int64_t bits = 0;
  for (const bool has : {features.gathers_params, features.reduces_gradients, features.overlaps_reduction,
                         features.reduces_embedding, features.receives_ahead})
    bits = 2 * bits + (has ? 1 : 0);
  return {number_of_schedule(plan.parallel), shape.stages, shape.chunks, shape.micro_batches, bits};
}

std::vector<std::optional<SimDuration>> PlanTimer::step_times(std::span<const ParallelPlan> plans) {
  std::vector<std::optional<SimDuration>> times(plans.size());
  TrainingPlan plan = base_;
  plan.parallel = plans.front();
  const PipelineSchedule& schedule = schedule_run_by(plan.parallel);
  const StepLayout& layout = profile(plan).bound.layout();
  std::vector<std::vector<double>> values;
  std::vector<std::size_t> of_plan;  // that has these values
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plan.parallel = plans[i];
    const BlockPrices& prices = blocks(plan);
    if (!is_exact_by_pass(prices, schedule)) {
      times[i] = time_alone(plan);
      continue;
    }
    const StepCosts costs = compute_step_costs(plan, schedule, cost_, {}, prices);
    if (!(costs.priced_s <= kLongestStepS)) continue;
    values.push_back(layout.values(costs));
    of_plan.push_back(i);
  }
  if (values.empty()) return times;
  const auto frame =
      StepFrame::build(schedule, schedule_shape(plan.parallel), step_features(plan, schedule), layout);
  GOODPUT_CHECK(frame.has_value(), "a schedule that passed its check must have a graph");
  const std::vector<SimDuration> timed = frame->step_times(values);
  for (std::size_t i = 0; i < timed.size(); ++i) {
    const double total = frame->total(values[i]);
    if (total > 0 && total <= 1e9 * kLongestStepS) times[of_plan[i]] = timed[i];
  }
  return times;
}

}  // namespace goodput
