#include "models/job/training_speed.h"

#include <algorithm>

namespace goodput {
namespace {

// Node counts and plans were checked when the policy was set up.
const StepTime& known(const Result<StepTime>& time) {
  GOODPUT_CHECK(time.has_value(), time.error().message());
  GOODPUT_CHECK(time->step > SimDuration{}, "a step that takes no time");
  return *time;
}

}  // namespace

DenseSpeed::DenseSpeed(const JobModel& job, const StepSettings& settings)
    : job_(&job), settings_(settings), healthy_(static_cast<std::size_t>(job.most_nodes()) + 1) {}

std::int32_t DenseSpeed::whole(std::int32_t nodes) const {
  return job_->steps().whole_nodes(std::min(nodes, job_->most_nodes()));
}

std::int32_t DenseSpeed::usable(std::int32_t nodes) const {
  return job_->steps().usable_nodes(std::min(nodes, job_->most_nodes()));
}

Result<StepTime> DenseSpeed::compute(std::int32_t nodes, std::int64_t /*step*/, double slowest) const {
  StepSettings settings = settings_;
  settings.slowest_speed = slowest;
  return job_->steps().dense(nodes, settings);
}

const StepTime& DenseSpeed::at(std::int32_t nodes, std::int64_t step, double slowest) {
  if (slowest != 1) {
    if (!slow_.is_of(nodes, 0, slowest)) slow_ = {nodes, 0, slowest, known(compute(nodes, step, slowest))};
    return slow_.time;
  }
  StepTime& time = healthy_.at(static_cast<std::size_t>(nodes));
  if (time.step == SimDuration{}) time = known(compute(nodes, step, 1));
  return time;
}

ExpertParallelSpeed::ExpertParallelSpeed(const JobModel& job, std::int32_t ep, const StepSettings& settings)
    : job_(&job), ep_(ep), settings_(settings), healthy_(static_cast<std::size_t>(job.most_nodes()) + 1) {}

std::int32_t ExpertParallelSpeed::whole(std::int32_t nodes) const {
  return job_->steps().whole_nodes(std::min(nodes, job_->most_nodes()), ep_);
}

std::int32_t ExpertParallelSpeed::usable(std::int32_t nodes) const {
  return job_->steps().usable_nodes(std::min(nodes, job_->most_nodes()), ep_);
}

std::int64_t ExpertParallelSpeed::until(std::int64_t step) const {
  return job_->routing().window_end(job_->routing().window_at(step));
}

Result<StepTime> ExpertParallelSpeed::compute(std::int32_t nodes, std::int64_t step, double slowest) const {
  StepSettings settings = settings_;
  settings.slowest_speed = slowest;
  const JobRouting& routing = job_->routing();
  return job_->steps().expert_parallel(nodes, ep_, routing.loads(routing.window_at(step)), settings);
}

const StepTime& ExpertParallelSpeed::at(std::int32_t nodes, std::int64_t step, double slowest) {
  const std::size_t window = job_->routing().window_at(step);
  if (slowest != 1) {
    if (!slow_.is_of(nodes, window, slowest))
      slow_ = {nodes, window, slowest, known(compute(nodes, step, slowest))};
    return slow_.time;
  }
  std::vector<StepTime>& times = healthy_.at(static_cast<std::size_t>(nodes));
  if (times.empty()) times.resize(job_->routing().windows());
  if (times[window].step == SimDuration{}) times[window] = known(compute(nodes, step, 1));
  return times[window];
}

}  // namespace goodput
