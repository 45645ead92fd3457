// How much longer ranks work than those that do the same: the sign of a slow rank in jobs whose ops are
// segments between collectives (models/collectives).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/recording/recording.h"

namespace goodput {

// The work of a worker in a step is the time of its computing and of its host's idling; waiting for other
// ranks and transfers are none.
struct RankWork {
  // By worker (dp * pp + stage), seconds a step: the mean over the steps of what it works longer than the
  // median of its peers. Empty where it has no peers: ranks of its stage, or all ranks where stages are
  // alike.
  std::vector<std::optional<double>> extra_s;

  struct SlowRank {
    std::size_t worker = 0;
    double extra_s = 0;
    std::string op_type;       // that has most of it
    double op_type_share = 0;  // of extra_s
  };
  std::vector<SlowRank> slow;  // the most extra work first
};

// A rank is slow if it works longer than its peers by kSlowShare of the step, in the median over the steps,
// and by more than kSlowScatter times the scatter: of its peers among themselves, and of the rank from step
// to step.
inline constexpr double kSlowShare = 0.05;
inline constexpr double kSlowScatter = 2;
[[nodiscard]] RankWork measure_rank_work(const Recording& recording);

}  // namespace goodput
