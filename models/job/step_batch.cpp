#include "models/job/step_batch.h"

#include "models/schedule/schedule.h"
#include "sim/base/errors.h"

namespace goodput {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

StepBatch::StepBatch(const ParallelPlan& plan, BatchRule rule) : plan_(plan), rule_(rule) {}

std::int64_t StepBatch::samples(std::int64_t replicas) const {
  if (rule_ == BatchRule::kFixed) return plan_.global_batch;
  return replicas * plan_.micro_batch * plan_.micro_batches();
}

std::int64_t StepBatch::micro_batches(std::int64_t replicas) const {
  GOODPUT_CHECK(replicas > 0, "a step of no replicas");
  if (rule_ == BatchRule::kPerReplica) return plan_.micro_batches();
  return runnable(ceil_div(plan_.global_batch, replicas * plan_.micro_batch));
}

std::int64_t StepBatch::fewest_replicas(std::int64_t replicas) const {
  if (rule_ == BatchRule::kPerReplica) return replicas;
  return ceil_div(plan_.global_batch, micro_batches(replicas) * plan_.micro_batch);
}

// Schedules want multiples of the stages (interleaved), or even numbers from twice the stages on (DualPipe).
std::int64_t StepBatch::runnable(std::int64_t count) const {
  const Result<const PipelineSchedule*> schedule = find_schedule(plan_.schedule);
  GOODPUT_CHECK(schedule.has_value(), "a plan with a schedule that does not exist");
  for (std::int64_t more = count; more <= count + 2 * std::int64_t{plan_.pp}; ++more) {
    if ((*schedule)->check({plan_.pp, plan_.vpp, static_cast<std::int32_t>(more)})) return more;
  }
  return count;  // what the schedule has against it is about something else
}

}  // namespace goodput
