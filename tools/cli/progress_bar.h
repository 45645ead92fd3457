// A progress bar on stderr for work that takes more than two seconds; nothing when stderr is no terminal. It
// says how long the rest will take, as soon as something is done.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace goodput {

class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Show : bool { kNever, kWhenSlow };

  // `total`: what update() counts up to; 0: not known. `began`: when the work did.
  ProgressBar(std::ostream& err, Show show, std::string what, std::uint64_t total,
              Clock::time_point began = Clock::now());
  ~ProgressBar();  // wipes the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::uint64_t done) { update(done, Clock::now()); }
  void update(std::uint64_t done, Clock::time_point now);

 private:
  using Seconds = std::chrono::duration<double>;
  [[nodiscard]] std::optional<Seconds> left(Clock::time_point now) const;
  [[nodiscard]] std::string times(Clock::time_point now) const;

  std::ostream& err_;
  Show show_;
  std::string what_;
  std::uint64_t total_;
  Clock::time_point began_;
  Clock::time_point drawn_ = began_;
  std::uint64_t done_ = 0;
  Clock::time_point done_at_ = began_;  // when it last grew
  bool is_drawn_ = false;
};

}  // namespace goodput
