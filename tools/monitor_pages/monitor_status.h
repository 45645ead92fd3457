// What a running monitor says of itself besides what is stored. Written by its loop, read by pages and
// metrics.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace goodput {

struct JobStatus {
  // From a step's last row to its result, of the latest one; absent: none since the monitor started.
  std::optional<double> lag_s;
  double last_row_s = 0;  // Unix time, also of a row of a stored step; 0: none yet
  std::uint64_t unread_bytes = 0;
  std::uint64_t bad_lines = 0;
  std::string last_bad_line;    // place and message
  std::uint64_t late_rows = 0;  // of steps that were finished
  std::int64_t open_steps = 0;  // of which rows are there, but not of all workers
  bool is_behind = false;       // steps are skipped to keep up
};

struct MonitorState {
  double started_s = 0;   // Unix time
  double beat_s = 0;      // Unix time at which its loop went round last; it does at least every few seconds
  bool is_ready = false;  // the folders were read once, and results can be stored
  bool uses_inotify = false;
  // What keeps results from being stored, messages from being handed out, ...; empty: nothing. The first of:
  std::string problem;
  std::map<std::string, std::string> problems;  // by what fails
  std::map<std::string, JobStatus> jobs;
  std::uint64_t spooled_bytes = 0;  // that were pushed and are not read yet
  std::uint64_t undelivered = 0;    // messages about incidents that wait for their sink

  // An empty message: it does not fail any more.
  void set_problem(const std::string& what, const std::string& message) {
    if (message.empty())
      problems.erase(what);
    else
      problems[what] = message;
    problem = problems.empty() ? std::string() : problems.begin()->second;
  }
};

// Thread-safe.
class MonitorStatus {
 public:
  [[nodiscard]] MonitorState state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  // change(MonitorState&)
  template <typename Change>
  void update(Change change) {
    const std::lock_guard lock(mutex_);
    change(state_);
  }

 private:
  mutable std::mutex mutex_;
  MonitorState state_;
};

}  // namespace goodput
