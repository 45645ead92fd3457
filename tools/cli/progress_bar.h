// A progress bar on stderr for work that takes more than two seconds; nothing when stderr is no terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace goodput {

class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Show : bool { kNever, kWhenSlow };

  // `total`: what update() counts up to; 0: not known.
  ProgressBar(std::ostream& err, Show show, std::string what, std::uint64_t total);
  ~ProgressBar();  // wipes the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::uint64_t done) { update(done, Clock::now()); }
  void update(std::uint64_t done, Clock::time_point now);

 private:
  std::ostream& err_;
  Show show_;
  std::string what_;
  std::uint64_t total_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point drawn_ = began_;
  bool is_drawn_ = false;
};

}  // namespace goodput
