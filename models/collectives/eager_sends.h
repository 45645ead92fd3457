// Sends that do not wait for their receivers: NCCL buffers small messages.
#pragma once

#include <vector>

#include "models/collectives/joined_ranks.h"
#include "models/collectives/matched_parts.h"

namespace goodput {

// By slot and part: whether it is such a send. The two sides of any other message end together, so their
// clocks differ by the same amount in every step; an eager send ends earlier by as much as its receiver is
// late, which varies. Messages that share a kernel with others are never counted as eager.
// `takes_all`: counts every send that has a kernel to itself, for programs in which an op would otherwise
// wait for itself.
[[nodiscard]] std::vector<std::vector<char>> find_eager_sends(const JoinedRanks& joined,
                                                              const MatchedParts& matched, bool takes_all);

}  // namespace goodput
