// Steps on their way from the thread that reads to the one that analyses: few, for files hold what waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/live/step_intake.h"
#include "tools/monitor/step_analysis.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {

// A step with all that its commit needs, as it was when the step was put together.
struct QueuedStep {
  GatheredStep step;
  JobFacts job;
  std::vector<FilePosition>
      positions;  // of files that have moved on, once this step and those before are stored
  std::vector<std::string> gone_files;  // paths at which they are no more
  std::string intake_state;
};

// What becomes of a step for which there is no room.
enum class WhenFull : std::uint8_t {
  kWait,  // until there is
  kSkip,  // the oldest one that waits is not analysed
};

class StepQueue {
 public:
  // Of steps that wait to be analysed, all jobs together; one always fits.
  explicit StepQueue(std::size_t most_rows) : most_rows_(most_rows) {}

  // False: the queue is closed.
  bool push(QueuedStep step, WhenFull when_full);
  // The next one; nothing when there is none until `deadline`, and once the queue is closed and empty.
  [[nodiscard]] std::optional<QueuedStep> pop(std::chrono::steady_clock::time_point deadline);
  // Nothing more comes; with `drop` what waits is let go of: a former position says where it is read again.
  enum class Waiting : std::uint8_t { kKeep, kDrop };
  void close(Waiting waiting);
  [[nodiscard]] bool is_closed() const;
  // Nothing of the job waits, and nothing of it that was popped is still at work.
  [[nodiscard]] bool is_idle(std::string_view job) const;
  void done(std::string_view job);  // with a step of it that pop() gave

 private:
  void skip_oldest();

  const std::size_t most_rows_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<QueuedStep> steps_;
  std::size_t rows_ = 0;
  std::vector<std::string> at_work_;  // the jobs of popped steps
  bool is_closed_ = false;
};

}  // namespace goodput
