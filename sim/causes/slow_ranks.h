// The cause "slow-rank", from how much longer ranks work than their peers (rank_work.h).
#pragma once

#include <optional>
#include <vector>

#include "sim/causes/doubt.h"
#include "sim/causes/rank_work.h"
#include "sim/causes/remedy.h"
#include "sim/causes/root_cause.h"

namespace goodput {

// Returns one cause: all slow ranks with the gain of fixing them together, or why no rank is slow.
[[nodiscard]] std::vector<RootCause> find_slow_ranks(const AnalysedJob& job, const RankWork& work,
                                                     const std::optional<Doubt>& doubt);

}  // namespace goodput
