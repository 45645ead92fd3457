// What was pushed and nobody has taken yet, in memory of a fixed size. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "tools/web/push_keys.h"
#include "tools/web/pushed_lines.h"

namespace goodput {

// One body, looked through: PushedLines::next() does not fail on it.
struct CheckedPush {
  std::string job;
  bool is_csv = false;
  std::string key{};  // push_key(); empty: none
  PushedLines lines;

  [[nodiscard]] PushedKey pushed_key() const { return {job, key}; }
};

struct PushCounts {
  std::uint64_t pushes = 0;  // taken in
  std::uint64_t repeated = 0;
  std::uint64_t refused = 0;  // there was no room
  std::size_t waiting_bytes = 0;
};

class PushQueue {
 public:
  enum class Outcome : std::uint8_t { kTaken, kRepeated, kFull };

  // `most_bytes` of bodies as they were sent; no larger one is ever taken. `wake` is called after each that
  // was taken in, on any thread.
  PushQueue(std::size_t most_bytes, std::function<void()> wake);

  // Of pushes that a former process took in. Before the first put().
  void know(PushKeys keys) { keys_ = std::move(keys); }
  // Takes it in once for each key of a job, as far as PushKeys go.
  Outcome put(CheckedPush push);
  [[nodiscard]] bool has_room(std::size_t bytes) const { return bytes <= most_bytes_ - waiting_bytes_; }
  // Counts one that was refused before it was read.
  void count_refused() { ++refused_; }

  // The oldest; nothing: none is there. It counts until one of the next two is called.
  std::optional<CheckedPush> take();
  void finish(const CheckedPush& push);
  // It could not be kept: its key is forgotten, so that it may be sent again.
  void give_up(const CheckedPush& push);

  [[nodiscard]] PushCounts counts() const;

 private:
  const std::size_t most_bytes_;
  const std::function<void()> wake_;
  std::atomic<std::size_t> waiting_bytes_ = 0;  // of those that were taken, too
  std::atomic<std::uint64_t> pushes_ = 0;
  std::atomic<std::uint64_t> repeated_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::mutex mutex_;  // of what follows
  std::deque<CheckedPush> waiting_;
  PushKeys keys_;
};

}  // namespace goodput
