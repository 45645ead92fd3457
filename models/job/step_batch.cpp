#include "models/job/step_batch.h"

#include "sim/base/errors.h"

namespace goodput {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

const PipelineSchedule* known_schedule(const ParallelPlan& plan) {
  const Result<const PipelineSchedule*> schedule = find_schedule(plan.schedule);
  GOODPUT_CHECK(schedule.has_value(), "the schedule of the plan must exist");
  return *schedule;
}

}  // namespace

StepBatch::StepBatch(const ParallelPlan& plan, BatchRule rule)
    : samples_(plan.global_batch),
      micro_batch_(plan.micro_batch),
      plan_micro_batches_(plan.micro_batches()),
      shape_{plan.pp, plan.vpp, 1},
      schedule_(known_schedule(plan)),
      rule_(rule) {}

std::int64_t StepBatch::samples(std::int64_t replicas) const {
  return rule_ == BatchRule::kFixed ? samples_ : replicas * micro_batch_ * plan_micro_batches_;
}

std::int64_t StepBatch::micro_batches(std::int64_t replicas) const {
  GOODPUT_CHECK(replicas > 0, "a step needs at least one replica");
  if (rule_ == BatchRule::kPerReplica) return plan_micro_batches_;
  return runnable(ceil_div(samples_, replicas * micro_batch_));
}

std::int64_t StepBatch::fewest_replicas(std::int64_t replicas) const {
  if (rule_ == BatchRule::kPerReplica) return replicas;
  return ceil_div(samples_, micro_batches(replicas) * micro_batch_);
}

bool StepBatch::runs_any_number() const {
  return runnable(1) == 1 && runnable(3) == 3;
}

bool StepBatch::has_one_chunk() const {
  return schedule_->chunks(shape_) == 1;
}

// Schedules want multiples of the stages (interleaved), or numbers from twice the stages on (DualPipe, which
// wants even ones, and DualPipeV).
std::int64_t StepBatch::runnable(std::int64_t count) const {
  ScheduleShape shape = shape_;
  for (std::int64_t more = count; more <= count + 2 * std::int64_t{shape.stages}; ++more) {
    shape.micro_batches = static_cast<std::int32_t>(more);
    if (schedule_->check(shape)) return more;
  }
  return count;  // what the schedule has against it is about something else
}

}  // namespace goodput
