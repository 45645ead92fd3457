#include "tools/web/push_queue.h"

namespace goodput {

PushQueue::PushQueue(std::size_t most_bytes, std::function<void()> wake)
    : most_bytes_(most_bytes), wake_(std::move(wake)) {}

PushQueue::Outcome PushQueue::put(CheckedPush push) {
  {
    const std::lock_guard lock(mutex_);
    if (keys_.contains(push.pushed_key())) {
      ++repeated_;
      return Outcome::kRepeated;
    }
    const std::size_t bytes = push.lines.body_bytes();
    if (!has_room(bytes)) {
      ++refused_;
      return Outcome::kFull;
    }
    keys_.add(push.pushed_key());
    waiting_bytes_ += bytes;
    ++pushes_;
    waiting_.push_back(std::move(push));
  }
  if (wake_) wake_();
  return Outcome::kTaken;
}

std::optional<CheckedPush> PushQueue::take() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return std::nullopt;
  CheckedPush push = std::move(waiting_.front());
  waiting_.pop_front();
  return push;
}

void PushQueue::finish(const CheckedPush& push) {
  waiting_bytes_ -= push.lines.body_bytes();
}

void PushQueue::give_up(const CheckedPush& push) {
  finish(push);
  const std::lock_guard lock(mutex_);
  keys_.remove(push.pushed_key());
}

PushCounts PushQueue::counts() const {
  return {pushes_, repeated_, refused_, waiting_bytes_};
}

}  // namespace goodput
