// Finds the best of many contenders, each of which comes to a number a trial, in few trials.
//
// Successive halving by paired comparisons: all contenders meet the same failures in their k-th trial, so
// what these do to both cancels in a difference. In each round of twice as many trials those that are surely
// worse than the best so far, by more than a tie, are sent off; they come back if that one breaks a limit
// after all. What is left in the end and cannot be told from the best is a tie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "models/scenario/estimate.h"
#include "sim/base/errors.h"

namespace goodput {

// Whether a contender keeps to the limits, by the trials there are.
enum class WithinLimits : std::uint8_t {
  kNo,       // surely not
  kHardly,   // does not, but may with more trials
  kPerhaps,  // does, but may not with more trials
  kYes,      // surely
};

struct ContestRules {
  double tie = 0.005;  // relative: what is no further apart counts as the same
  std::int64_t first_trials = 16;
  std::int64_t least_trials = 128;  // of the winner, for an estimate that is worth printing
  std::int64_t most_trials = 1024;
};

// Who runs the trials.
struct ContestTrials {
  // Afterwards each of these has so many.
  std::function<Status(std::span<const std::size_t> contenders, std::int64_t trials)> run;
  // A number a trial, less is better; none where some trial has none: such a contender is out.
  std::function<std::optional<std::vector<double>>(std::size_t contender)> values;
  std::function<WithinLimits(std::size_t contender)> limits;
};

struct ContestResult {
  std::optional<std::size_t> best{};  // the least mean of those within the limits
  std::vector<std::size_t> ties{};    // others within the limits that are no worse, by mean: least first
  std::vector<std::size_t> left{};    // not fallen out, within the limits or hardly: by number
  std::int64_t trials = 0;            // that each of `left` has
};

Result<ContestResult> run_contest(std::size_t contenders, const ContestRules& rules,
                                  const ContestTrials& trials);

// Whether `other` cannot be told from `best`: the paired 95 % interval of the difference holds 0, or the
// difference is within `tie` of the mean of `best`. REQUIRES: as many values of both, one or more.
[[nodiscard]] bool is_tie(std::span<const double> best, std::span<const double> other, double tie);

}  // namespace goodput
