// Finds the best of many contenders in few trials. Each trial of a contender yields a number.
//
// Successive halving by paired comparisons: all contenders meet the same failures in their k-th trial, so
// the effect of the failures largely cancels in a difference. Each round has twice as many trials as the one
// before and drops the contenders that are surely worse than the best so far, by more than a tie. They return
// if that contender turns out to break a limit. In the end the best is the contender that finishes first
// among those that are surely within a tie of the least mean, so that the answer does not depend on the seed.
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

// Whether a contender keeps to the limits, according to its trials so far.
enum class WithinLimits : std::uint8_t {
  kNo,       // surely not
  kHardly,   // it does not, but may with more trials
  kPerhaps,  // it does, but may not with more trials
  kLikely,   // it does in every trial, by a wide margin, but the trials are too few to show the probability
  kYes,      // the confidence interval supports it
};

// What decides between contenders that are equally good.
struct TieRank {
  double done_by = 0;           // the 95 % date, or whatever is to be early
  std::int32_t nodes_held = 0;  // between equal dates
  double stored_bytes = 0;      // between equal nodes: what checkpoints write
};

struct ContestRules {
  double tie = 0.005;  // relative: a smaller difference does not count
  std::int64_t first_trials = 16;
  std::int64_t least_trials = 128;  // of the winner, for an estimate that is worth printing
  std::int64_t max_trials = 1024;
  // The winner alone gets up to so many trials if its limits are not shown yet. Less than max_trials: none.
  std::int64_t proof_trials = 0;
  // Asked between rounds: whether to stop with the trials there are. Empty: never.
  std::function<bool()> is_out_of_time{};
};

// Who runs the trials.
struct ContestTrials {
  // Afterwards each of these has so many.
  std::function<Status(std::span<const std::size_t> contenders, std::int64_t trials)> run;
  // A number per trial, less is better; none if some trial has none: such a contender is out.
  std::function<std::optional<std::vector<double>>(std::size_t contender)> values;
  std::function<WithinLimits(std::size_t contender)> limits;
  std::function<TieRank(std::size_t contender)> tie_rank;
};

struct ContestResult {
  std::optional<std::size_t> best{};  // within the limits
  bool is_shown = true;               // the trials show that it is: WithinLimits::kYes
  std::vector<std::size_t> ties{};    // others within the limits that are no worse, by mean: least first
  std::vector<std::size_t> left{};    // still in the contest, within the limits or hardly: by number
  std::int64_t trials = 0;            // that each of `left` has
};

Result<ContestResult> run_contest(std::size_t contenders, const ContestRules& rules,
                                  const ContestTrials& trials);

// Whether `other` cannot be told from `best`: the paired 95 % interval of the difference holds 0, or the
// difference is within `tie` of the mean of `best`. Compares the trials that both have. REQUIRES: one or
// more.
[[nodiscard]] bool is_tie(std::span<const double> best, std::span<const double> other, double tie);

}  // namespace goodput
