#include "models/job/timed_plan.h"

#include <utility>

#include "models/cost/cost_models.h"

namespace goodput {

TimedPlan::TimedPlan(TrainingPlan plan, BatchRule batch, JobRouting routing, std::unique_ptr<CostModel> cost)
    : plan_(std::move(plan)),
      routing_(std::move(routing)),
      modules_(checkpoint_model(plan_.model)),
      cost_(std::move(cost)),
      steps_(plan_, *cost_, batch, &routing_.ranks()) {}

Result<std::unique_ptr<const TimedPlan>> TimedPlan::make(TrainingPlan plan, BatchRule batch,
                                                         JobRouting routing) {
  GOODPUT_TRY(std::unique_ptr<CostModel> cost, make_cost_model(cost_inputs(plan)));
  std::unique_ptr<TimedPlan> timed(
      new TimedPlan(std::move(plan), batch, std::move(routing), std::move(cost)));
  GOODPUT_TRY(timed->own_step_, timed->steps().planned(timed->plan().parallel));
  return std::unique_ptr<const TimedPlan>(std::move(timed));
}

Result<std::unique_ptr<const TimedPlan>> TimedPlan::with_error(TrainingPlan plan, BatchRule batch,
                                                               JobRouting routing, const TimedPlan& right) {
  GOODPUT_TRY(std::unique_ptr<CostModel> cost, make_cost_model(cost_inputs(plan)));
  std::unique_ptr<TimedPlan> timed(
      new TimedPlan(std::move(plan), batch, std::move(routing), std::move(cost)));
  timed->right_ = &right;
  GOODPUT_TRY(timed->own_step_, timed->in_error(right.own_step(), {}));
  return std::unique_ptr<const TimedPlan>(std::move(timed));
}

namespace {

StepSettings without_overhead(StepSettings settings) {
  settings.step_overhead = {};
  return settings;
}

}  // namespace

// `time`: without the overhead of a step.
Result<StepTime> TimedPlan::in_error(Result<StepTime> time, const StepSettings& settings) const {
  if (!time) return time;
  const double factor = price_factor(plan_);
  time->step = from_seconds(to_seconds(time->step) * factor) + settings.step_overhead;
  time->forward_backward = from_seconds(to_seconds(time->forward_backward) * factor);
  return time;
}

template <typename Key, typename Compute>
Result<StepTime> TimedPlan::known(BoundedMemo<Key, Result<StepTime>>& memo, const Key& key,
                                  const StepSettings& settings, const Compute& compute) {
  GOODPUT_TRY(StepTime time, memo.at(key, [&] { return compute(without_overhead(settings)); }));
  time.step += settings.step_overhead;
  return time;
}

Result<StepTime> TimedPlan::dense(std::int32_t nodes, const StepSettings& settings) const {
  if (right_ != nullptr) return in_error(right_->dense(nodes, without_overhead(settings)), settings);
  const StepKey key{nodes, 0, 0, settings.moe_speedup, settings.slowest_speed, ExpertDispatch::kPadded};
  return known(known_, key, settings, [&](const StepSettings& of) { return steps_.dense(nodes, of); });
}

Result<StepTime> TimedPlan::expert_parallel(std::int32_t nodes, const ExpertParallelGroup& group,
                                            std::size_t window, const StepSettings& settings) const {
  if (right_ != nullptr)
    return in_error(right_->expert_parallel(nodes, group, window, without_overhead(settings)), settings);
  const StepKey key{
      nodes, group.gpus, window, settings.moe_speedup, settings.slowest_speed, settings.dispatch};
  const auto compute = [&](const StepSettings& of) {
    return steps_.expert_parallel(nodes, group, routing_.loads(window), of);
  };
  if (group.layers.empty() && group.redundant == 0) return known(known_, key, settings, compute);
  std::vector<std::int32_t> experts;
  for (const ExpertPlacement& layer : group.layers)
    experts.insert(experts.end(), layer.expert_at.begin(), layer.expert_at.end());
  return known(moved_, MovedKey{key, group.redundant, std::move(experts)}, settings, compute);
}

Result<StepTime> TimedPlan::planned(const ParallelPlan& parallel, const StepSettings& settings) const {
  if (right_ != nullptr) return in_error(right_->planned(parallel, without_overhead(settings)), settings);
  const PlannedKey key{text_key(parallel), settings.moe_speedup, settings.slowest_speed};
  return known(planned_, key, settings, [&](const StepSettings& of) { return steps_.planned(parallel, of); });
}

Result<StepTime> TimedPlan::flexible(const Placing& placing,
                                     const std::function<std::vector<ExpertPlacement>()>& place,
                                     const LayerClasses& classes, std::size_t window,
                                     const StepSettings& settings) const {
  if (right_ != nullptr)
    return in_error(right_->flexible(placing, place, classes, window, without_overhead(settings)), settings);
  const FlexibleKey key{placing, window, settings.moe_speedup, settings.slowest_speed};
  return known(flexible_, key, settings, [&](const StepSettings& of) {
    return steps_.flexible(place(), classes, routing_.loads(window), of);
  });
}

}  // namespace goodput
