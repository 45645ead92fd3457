#include "tools/monitor/step_queue.h"

#include <algorithm>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {
namespace {

constexpr std::size_t kMostSteps = 4096;  // without rows, or with few

}  // namespace

void StepQueue::skip_oldest() {
  const auto oldest = std::ranges::find_if(
      steps_, [](const QueuedStep& queued) { return queued.step.status == StepStatus::kAnalysed; });
  if (oldest == steps_.end()) return;
  rows_ -= oldest->step.rows.size();
  oldest->step.rows = {};
  oldest->step.status = StepStatus::kSkipped;
}

bool StepQueue::push(QueuedStep step, WhenFull when_full) {
  std::unique_lock lock(mutex_);
  const std::size_t rows = step.step.rows.size();
  const auto has_room = [&] {
    return steps_.empty() || (rows_ + rows <= most_rows_ && steps_.size() < kMostSteps);
  };
  if (when_full == WhenFull::kSkip) {
    while (rows_ > 0 && !has_room()) skip_oldest();
  } else {
    changed_.wait(lock, [&] { return is_closed_ || has_room(); });
  }
  if (is_closed_) return false;
  rows_ += rows;
  steps_.push_back(std::move(step));
  changed_.notify_all();
  return true;
}

std::optional<QueuedStep> StepQueue::pop(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return is_closed_ || !steps_.empty(); });
  if (steps_.empty()) return std::nullopt;
  std::optional<QueuedStep> step(std::move(steps_.front()));
  steps_.pop_front();
  rows_ -= step->step.rows.size();
  at_work_.push_back(step->job.name);
  changed_.notify_all();
  return step;
}

void StepQueue::close(Waiting waiting) {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  if (waiting == Waiting::kDrop) {
    steps_.clear();
    rows_ = 0;
  }
  changed_.notify_all();
}

bool StepQueue::is_closed() const {
  const std::lock_guard lock(mutex_);
  return is_closed_;
}

bool StepQueue::is_idle(std::string_view job) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::find(at_work_, job) == at_work_.end() &&
         std::ranges::none_of(steps_, [job](const QueuedStep& queued) { return queued.job.name == job; });
}

void StepQueue::done(std::string_view job) {
  const std::lock_guard lock(mutex_);
  const auto at_work = std::ranges::find(at_work_, job);
  GOODPUT_CHECK(at_work != at_work_.end(), "the job has no popped step");
  at_work_.erase(at_work);
  changed_.notify_all();
}

}  // namespace goodput
