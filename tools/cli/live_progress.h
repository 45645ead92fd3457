// A progress bar that moves by itself while its work takes long over a single step.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <iosfwd>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "tools/cli/progress_bar.h"

namespace goodput {

class LiveProgress {
 public:
  // As ProgressBar. A thread of its own draws, so nothing else may write to `err` meanwhile.
  LiveProgress(std::ostream& err, ProgressBar::Show show, std::string what, std::uint64_t total,
               ProgressBar::Clock::time_point began = ProgressBar::Clock::now());

  // From any thread, and cheap enough for every step.
  void update(std::uint64_t done) { done_.store(done, std::memory_order_relaxed); }

 private:
  void draw(const std::stop_token& stopped);

  ProgressBar bar_;
  std::atomic<std::uint64_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable_any wakes_;
  std::jthread drawer_;  // gone before what it draws with
};

}  // namespace goodput
