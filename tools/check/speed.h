// How long commands take, against another program: --time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/check/suite.h"
#include "tools/check/suite_runner.h"

namespace goodput {

// Of two programs whose runs alternate: what the second takes over what the first does.
struct SpeedRatio {
  double of_minima = 1;
  double of_medians = 1;

  // How far the farther of the two is from 1.
  [[nodiscard]] double excess() const;
};

struct SpeedResult {
  std::string run{};  // of the suite
  std::int64_t rounds = 0;
  double baseline_s = 0, program_s = 0;  // the least it took
  SpeedRatio noise{};                    // of a program to itself
  SpeedRatio ratio{};                    // of this program to the other
  // By more than kLeastSpeedChange, and by more than twice what the noise was.
  [[nodiscard]] bool is_slower() const;
  [[nodiscard]] bool is_faster() const;
};

inline constexpr double kLeastSpeedChange = 0.02;

// The other program twice, and this one, round by round and each first in turn; `rounds` times, or fewer
// where the time is over, but at least kLeastRounds. What comes out faster or slower is measured once more,
// and that counts. Fails where one of them fails.
inline constexpr std::int64_t kLeastRounds = 5;
[[nodiscard]] Result<SpeedResult> time_run(const SuiteRun& run, const std::string& program,
                                           const std::string& other, const RunnerOptions& options,
                                           std::int64_t rounds, const std::function<bool()>& is_time_over);

}  // namespace goodput
