// Dynamic-K (PEC, section 3.1): after a recovery more experts are saved, so that the proportion of lost
// tokens (PLT) of a whole run stays below a limit.
//
// The paper doubles K once losses have passed a limit; then they are above it. Here K doubles as long as one
// more fault would pass it.
#pragma once

#include <cstdint>
#include <functional>

#include "models/checkpoint/partial_checkpoint.h"

namespace goodput {

// The limit of PEC's paper (section 3.1, Figure 5(d)).
inline constexpr double kDynamicKLimit = 0.05;

// How many intervals an expert's copy in storage is older than the last checkpoint, on average, when experts
// take turns: (experts / persist - 1) / 2 if `persist` divides them. REQUIRES: 1 <= persist <= experts.
[[nodiscard]] double mean_age(std::int32_t experts, std::int32_t persist);

// What is known at a recovery, as shares of the tokens of the whole run.
struct LostShares {
  double so_far = 0;  // PLT
  double at_once =
      0;  // that a fault of all ranks would lose now, from copies that are older than this recovery
};

// The levels from a recovery on: those of the beginning, `k`, doubled up to all experts until the tokens lost
// so far and those of one more fault come to `limit` at most. That fault hits all ranks and loses mean_age()
// times `interval_share(k)`, an interval's share of the run with these levels, or at_once, if that is more.
// Loads are taken to be even.
[[nodiscard]] PecLevels raised_levels(PecLevels k, std::int32_t experts, double limit, const LostShares& lost,
                                      const std::function<double(const PecLevels&)>& interval_share);

}  // namespace goodput
