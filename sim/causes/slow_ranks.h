// The cause of slow ranks, from how much longer they work than their peers (rank_work.h).
#pragma once

#include <optional>
#include <vector>

#include "sim/causes/doubt.h"
#include "sim/causes/rank_work.h"
#include "sim/causes/remedy.h"
#include "sim/causes/root_cause.h"

namespace goodput {

// One cause, "slow-rank": all slow ranks with their gain together, or why there is none.
[[nodiscard]] std::vector<RootCause> find_slow_ranks(const AnalysedJob& job, const RankWork& work,
                                                     const std::optional<Doubt>& doubt);

}  // namespace goodput
