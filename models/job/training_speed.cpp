#include "models/job/training_speed.h"

#include <algorithm>

namespace goodput {

StepTime TrainingSpeed::known(std::int32_t nodes, std::int64_t step, double slowest,
                              std::int64_t kind) const {
  const auto time = [&] {
    // Node counts and plans were checked when the policy was set up.
    const Result<StepTime> computed = compute(nodes, step, slowest);
    GOODPUT_CHECK(computed.has_value(), computed.error().message());
    GOODPUT_CHECK(computed->step > SimDuration{}, "a step must take time");
    return *computed;
  };
  return slowest == 1 ? healthy_.at({nodes, kind}, time) : slow_.at({nodes, kind, slowest}, time);
}

std::int32_t TrainingSpeed::least() const {
  std::int32_t least = 1;
  while (usable(least) == 0) ++least;
  return least;
}

DenseSpeed::DenseSpeed(const JobModel& job, const StepSettings& settings) : job_(&job), settings_(settings) {}

std::int32_t DenseSpeed::whole(std::int32_t nodes) const {
  return job_->steps().whole_nodes(job_->training_nodes(nodes));
}

std::int32_t DenseSpeed::usable(std::int32_t nodes) const {
  return job_->steps().usable_nodes(job_->training_nodes(nodes));
}

Result<StepTime> DenseSpeed::compute(std::int32_t nodes, std::int64_t /*step*/, double slowest) const {
  StepSettings settings = settings_;
  settings.slowest_speed = slowest;
  return job_->timed().dense(nodes, settings);
}

ExpertParallelSpeed::ExpertParallelSpeed(const JobModel& job, std::int32_t ep, const StepSettings& settings,
                                         const ExpertCourse* experts)
    : job_(&job), ep_(ep), settings_(settings), experts_(experts) {}

std::int32_t ExpertParallelSpeed::whole(std::int32_t nodes) const {
  return job_->steps().whole_nodes(job_->training_nodes(nodes), ep_);
}

std::int32_t ExpertParallelSpeed::usable(std::int32_t nodes) const {
  return job_->steps().usable_nodes(job_->training_nodes(nodes), ep_);
}

TrainingSpeed::Stretch ExpertParallelSpeed::stretch(std::int64_t step) const {
  const auto [window, end] = job_->routing().stretch(step);
  if (experts_ == nullptr) return {static_cast<std::int64_t>(window), end};
  const std::size_t placed = experts_->window(step) * job_->routing().windows();
  return {static_cast<std::int64_t>(placed + window), std::min(end, experts_->next(step))};
}

Result<StepTime> ExpertParallelSpeed::compute(std::int32_t nodes, std::int64_t step, double slowest) const {
  StepSettings settings = settings_;
  settings.slowest_speed = slowest;
  const std::size_t window = job_->routing().window_at(step);
  if (experts_ == nullptr) return job_->timed().expert_parallel(nodes, {ep_}, window, settings);
  return job_->timed().expert_parallel(nodes, experts_->at(step), window, settings);
}

}  // namespace goodput
