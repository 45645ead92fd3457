// The latest analyzed steps of a job: what the rules look back at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/live/step_result.h"

namespace goodput {

struct RecentStep {
  StepId id;
  double slowdown = 1;  // S
  double lost_s = 0;
  std::vector<StepFault> faults;
  std::size_t worst_worker = 0;  // costs most alone,
  double worst_slowdown = 1;     // namely this
};
// REQUIRES: the step was analyzed.
[[nodiscard]] RecentStep recent_step_of(const StepResult& step);

class RecentSteps {
 public:
  explicit RecentSteps(std::size_t max_steps = 20) : max_steps_(max_steps) {}

  void add(RecentStep step);
  void clear() { steps_.clear(); }
  [[nodiscard]] const std::deque<RecentStep>& steps() const { return steps_; }

 private:
  std::size_t max_steps_;
  std::deque<RecentStep> steps_;  // the latest last
};

// What one worker costs alone; absent if the step does not tell.
[[nodiscard]] std::optional<double> slowdown_of(const StepResult& step, std::size_t worker);

}  // namespace goodput
