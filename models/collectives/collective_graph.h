// The operation graph of joined ranks: one op per segment, one per part, and edges for what waits for what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/collectives/joined_ranks.h"
#include "models/collectives/matched_parts.h"
#include "models/collectives/wait_structure.h"
#include "sim/base/errors.h"
#include "sim/ops/op_graph.h"

namespace goodput {

// What an op of the graph stands for. Ops are numbered as in the spec.
struct CollectiveOp {
  enum class Kind : std::uint8_t {
    kHost,     // the device idles because its host is late
    kSegment,  // the rank's own work before a cut
    kPart,
    kMark,  // an eager part has begun: what its peers wait for
  };
  Kind kind = Kind::kSegment;
  std::uint32_t slot = 0;
  std::uint32_t at = 0;  // cut or part
};

struct CollectiveGraph {
  std::vector<CollectiveOp> ops;
  std::vector<std::uint32_t> finish;  // a step is finished when all of these ops are
  OpGraphSpec spec;
};

struct GraphInput {
  const JoinedRanks& joined;
  const std::vector<SlotGroup>& groups;
  const std::vector<SlotWaits>& waits;          // by slot
  const std::vector<std::vector<char>>& hosts;  // by slot and cut: whether its segment has a kHost op
  const std::vector<std::vector<char>>& eager;  // by slot and part: whether it ends without its peers
};
[[nodiscard]] CollectiveGraph build_collective_graph(const GraphInput& input);

}  // namespace goodput
