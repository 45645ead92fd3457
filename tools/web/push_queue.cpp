#include "tools/web/push_queue.h"

#include <algorithm>
#include <utility>

namespace goodput {
namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n') + 1);
}

}  // namespace

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
    waiting_.push_back({++pushes_, std::move(push)});
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

bool PushQueue::take_next() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return false;
  current_.emplace(std::move(waiting_.front()));
  waiting_.pop_front();
  return true;
}

std::optional<PushedText> PushQueue::take() {
  while (current_ || take_next()) {
    auto piece = current_->push.lines.next();
    GOODPUT_CHECK(piece.has_value(), "a push that was looked through is damaged");
    if (!*piece) {
      waiting_bytes_ -= current_->push.lines.body_bytes();
      current_.reset();
      continue;
    }
    PushedText text{current_->push.job, {}, current_->push.is_csv, current_->sequence};
    text.text = current_->csv_header;
    text.text += **piece;
    if (text.is_csv && current_->csv_header.empty()) current_->csv_header = first_line(text.text);
    return text;
  }
  return std::nullopt;
}

PushCounts PushQueue::counts() const {
  return {pushes_, repeated_, refused_, waiting_bytes_};
}

}  // namespace goodput
