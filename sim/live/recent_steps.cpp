#include "sim/live/recent_steps.h"

#include <utility>

#include "sim/base/errors.h"

namespace goodput {

RecentStep recent_step_of(const StepResult& step) {
  const StepTotals& totals = step.totals;
  GOODPUT_CHECK(totals.status == StepStatus::kAnalysed, "the step must have been analyzed");
  return {totals.id,   totals.slowdown,     totals.lost_s(),
          step.faults, totals.worst_worker, totals.worst_slowdown};
}

void RecentSteps::add(RecentStep step) {
  steps_.push_back(std::move(step));
  if (steps_.size() > max_steps_) steps_.pop_front();
}

std::optional<double> slowdown_of(const StepResult& step, std::size_t worker) {
  if (worker < step.worker_slowdown.size()) return step.worker_slowdown[worker];
  if (worker == step.totals.worst_worker && step.totals.status == StepStatus::kAnalysed)
    return step.totals.worst_slowdown;
  return std::nullopt;
}

}  // namespace goodput
