// What was pushed and nobody has taken yet, in memory of a fixed size. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "tools/web/pushed_lines.h"

namespace goodput {

// Whole lines; of CSV the first is the header.
struct PushedText {
  std::string job;
  std::string text;
  bool is_csv = false;
  std::uint64_t sequence = 0;  // of the push; pieces of one have the same
};

// One body, looked through: PushedLines::next() does not fail on it.
struct CheckedPush {
  std::string job;
  bool is_csv = false;
  std::string idempotency_key{};  // empty: none
  PushedLines lines;
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

  // Takes it in once for each key of a job, as far as the last kKeptKeys keys of the last kKeptJobs jobs go.
  Outcome put(CheckedPush push);
  [[nodiscard]] bool has_room(std::size_t bytes) const { return bytes <= most_bytes_ - waiting_bytes_; }
  // Counts one that was refused before it was read.
  void count_refused() { ++refused_; }

  // The next piece; nothing: none is there. What was taken is no more counted once its next piece is asked
  // for. REQUIRES: one thread only.
  std::optional<PushedText> take();

  [[nodiscard]] PushCounts counts() const;

  static constexpr std::size_t kKeptKeys = 256;
  static constexpr std::size_t kKeptJobs = 256;

 private:
  struct Waiting {
    std::uint64_t sequence;
    CheckedPush push;
    std::string csv_header{};  // once the first piece was taken
  };

  [[nodiscard]] bool is_known(const std::string& job, const std::string& key) const;
  void remember(const std::string& job, const std::string& key);
  [[nodiscard]] bool take_next();

  const std::size_t most_bytes_;
  const std::function<void()> wake_;
  std::atomic<std::size_t> waiting_bytes_ = 0;  // of current_, too
  std::atomic<std::uint64_t> pushes_ = 0;
  std::atomic<std::uint64_t> repeated_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::mutex mutex_;  // of what follows, but current_
  std::deque<Waiting> waiting_;
  std::map<std::string, std::deque<std::string>> keys_;  // by job, the oldest first
  std::deque<std::string> jobs_;                         // of keys_, the oldest first
  std::optional<Waiting> current_;                       // of the thread that takes
};

}  // namespace goodput
