#include "tools/web/push_queue.h"

#include <algorithm>
#include <utility>

namespace goodput {
PushQueue::PushQueue(std::size_t most_bytes, std::function<void()> wake)
    : most_bytes_(most_bytes), wake_(std::move(wake)) {}

PushQueue::Outcome PushQueue::put(CheckedPush push) {
  {
    const std::lock_guard lock(mutex_);
    if (is_known(push.job, push.idempotency_key)) {
      ++repeated_;
      return Outcome::kRepeated;
    }
    const std::size_t bytes = push.lines.body_bytes();
    if (!has_room(bytes)) {
      ++refused_;
      return Outcome::kFull;
    }
    remember(push.job, push.idempotency_key);
    waiting_bytes_ += bytes;
    ++pushes_;
    waiting_.push_back(std::move(push));
  }
  if (wake_) wake_();
  return Outcome::kTaken;
}

bool PushQueue::is_known(const std::string& job, const std::string& key) const {
  const auto keys = keys_.find(job);
  if (key.empty() || keys == keys_.end()) return false;
  return std::find(keys->second.begin(), keys->second.end(), key) != keys->second.end();
}

void PushQueue::remember(const std::string& job, const std::string& key) {
  if (key.empty()) return;
  const auto [keys, is_new] = keys_.try_emplace(job);
  if (is_new) jobs_.push_back(job);
  keys->second.push_back(key);
  if (keys->second.size() > kKeptKeys) keys->second.pop_front();
  if (jobs_.size() > kKeptJobs) {
    keys_.erase(jobs_.front());
    jobs_.pop_front();
  }
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
  const auto keys = keys_.find(push.job);
  if (keys != keys_.end()) std::erase(keys->second, push.idempotency_key);
}

PushCounts PushQueue::counts() const {
  return {pushes_, repeated_, refused_, waiting_bytes_};
}

}  // namespace goodput
