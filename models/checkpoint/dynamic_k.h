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

// By how many intervals an expert in storage is older than the last checkpoint, in the mean over experts that
// take turns: every `persist`-th of them is one interval older; (experts / persist - 1) / 2 where that is a
// whole number. REQUIRES: 1 <= persist <= experts.
[[nodiscard]] double mean_age(std::int32_t experts, std::int32_t persist);

// The levels from a recovery on: those of the beginning, `k`, doubled up to all experts until `plt` and what
// one more fault loses come to `limit` at most. That fault is taken to hit all ranks, with even loads: it
// loses mean_age() times `interval_share`, an interval's share of the run with these levels.
[[nodiscard]] PecLevels raised_levels(PecLevels k, std::int32_t experts, double limit, double plt,
                                      const std::function<double(const PecLevels&)>& interval_share);

}  // namespace goodput
