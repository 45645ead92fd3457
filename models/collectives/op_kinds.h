// Types and pools of the ops of a collective graph: under which name each is reported, and with which others
// it shares its ideal value.
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

// Segments are named after what the host was doing in most of their time ("forward-compute", "data-loader",
// ...), parts after their collective and group ("all-reduce (mesh_dp)"). A segment shares its ideal with the
// same segment of all ranks that do the same. In a pipeline with fewer than four ranks a stage a slow rank
// would hide in that mean: there whole passes share it with all passes of their kind, and uneven stages show,
// too. A part shares it with parts of its collective, size and kind of group.
[[nodiscard]] OpKinds kinds_of_ops(const JoinedRanks& joined, const CollectiveGraph& graph,
                                   const std::vector<SlotSegments>& segments);

}  // namespace goodput
