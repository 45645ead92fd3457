// Types and pools of the ops of a collective graph: the name that reports use for each op, and the ops with
// which it shares its ideal value.
#pragma once

#include <cstdint>
#include <vector>

#include "models/collectives/collective_graph.h"
#include "models/collectives/joined_ranks.h"
#include "models/collectives/segment_times.h"
#include "sim/ops/op_type_table.h"

namespace goodput {

struct OpKinds {
  OpTypeTable types;
  std::vector<OpType> type;         // by op of the graph
  std::vector<std::uint32_t> pool;  // by op of the graph
};

// Segments are named after what the host did for most of their time ("forward-compute", "data-loader", ...),
// parts after their collective and group ("all-reduce (mesh_dp)"). A segment shares its ideal with the same
// segment of all ranks that do the same work. With fewer than four ranks per pipeline stage a slow rank would
// hide in that mean, so there a whole pass shares its ideal with all passes of its kind; this also exposes
// uneven stages. A part shares its ideal with parts of the same collective, size and kind of group.
[[nodiscard]] OpKinds kinds_of_ops(const JoinedRanks& joined, const CollectiveGraph& graph,
                                   const std::vector<SlotSegments>& segments);

}  // namespace goodput
