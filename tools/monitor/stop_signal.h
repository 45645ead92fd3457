// SIGINT, SIGTERM and SIGHUP as a call: for commands that run until they are told to end.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace goodput {

// While it is there, these signals end nothing; the first one calls back, on a thread of its own. Make it
// before other threads, which inherit what it blocks.
class StopSignal {
 public:
  explicit StopSignal(std::function<void()> on_stop);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  [[nodiscard]] bool was_received() const { return was_received_; }

 private:
  sigset_t before_;
  std::atomic<bool> was_received_ = false;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace goodput
