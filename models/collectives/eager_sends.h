// Sends that do not wait for their receivers: small messages leave through buffers.
#pragma once

#include <vector>

#include "models/collectives/joined_ranks.h"
#include "models/collectives/matched_parts.h"

namespace goodput {

// By slot and part: whether it is such a send. Both ends of a message end together otherwise, whatever the
// two clocks show: an eager send ends earlier by as much as its receiver is late, which differs from step to
// step. Messages that share their kernel with others do not tell.
// `takes_all`: every send that has its kernel for itself is one, for programs in which something would wait
// for itself otherwise.
[[nodiscard]] std::vector<std::vector<char>> find_eager_sends(const JoinedRanks& joined,
                                                              const MatchedParts& matched, bool takes_all);

}  // namespace goodput
