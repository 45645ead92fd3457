// How much longer a rank works than the ranks that do the same work. In jobs whose ops are segments between
// collectives (models/collectives), this is how a slow rank shows.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/recording/recording.h"

namespace goodput {

// The work of a worker in a step is the time it computes, plus the time its device idles because of its host.
// Waiting for other ranks and transfers do not count.
struct RankWork {
  // By worker (dp * pp + stage), in seconds per step: how much longer it works than the median of its peers,
  // mean over the steps. Its peers are the ranks of its stage, or all ranks if stages are alike. Empty for a
  // worker without peers.
  std::vector<std::optional<double>> extra_s;

  struct SlowRank {
    std::size_t worker = 0;
    double extra_s = 0;
    std::string op_type;       // the one with most of the extra work
    double op_type_share = 0;  // of extra_s
  };
  std::vector<SlowRank> slow;  // the most extra work first
};

// A rank is slow if, in the median over the steps, it works longer than its peers by kSlowShare of the step
// and by more than kSlowScatter times the scatter. The scatter combines the differences among its peers and
// the rank's own variation from step to step.
inline constexpr double kSlowShare = 0.05;
inline constexpr double kSlowScatter = 2;
[[nodiscard]] RankWork measure_rank_work(const Recording& recording);

}  // namespace goodput
