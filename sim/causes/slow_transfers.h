// Transfers that took far longer than usual for their kind, and the place that they share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/causes/remedy.h"
#include "sim/causes/slow_links.h"
#include "sim/ops/op_graph.h"
#include "sim/recording/recording.h"

namespace goodput {

// All slow transfers of a recording that touch one place: a worker, or (collectives, where every replica
// waits) a stage in all replicas.
struct SlowTransfers {
  std::size_t stage = 0;
  std::optional<std::size_t> dp_rank;     // none: the collectives of the stage
  std::optional<std::size_t> peer_stage;  // all are on the link to this stage
  std::size_t count = 0;
  std::size_t transfers = 0;   // of the place, slow or not
  double excess_s = 0;         // over the median of their kind
  double share_of_excess = 0;  // of that of all slow transfers, and of all slow messages if fewer
  double worst_factor = 0;     // over the median
  std::vector<Patch> patches;  // both ends, at the median
};

// The place with the most excess; empty if no transfer stands out. Messages are preferred to collectives,
// which cannot show the replica at fault. On a slow link, the slow pace of its messages counts as usual.
[[nodiscard]] std::optional<SlowTransfers> find_slow_transfers(const OpGraph& graph,
                                                               const Recording& recording,
                                                               const LinkPace& links);

}  // namespace goodput
