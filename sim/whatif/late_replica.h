// What the late launches of one replica cost, for every replica of a block, in time linear in the replicas.
//
// Lanes of a step meet at the synchronized groups and at the finish. Between two meetings a lane is a longest
// path, so a meeting is the latest, over lanes and earlier meetings, of that meeting plus the lane's longest
// path from it. Of all lanes that are not late, only one with the longest path between some two meetings can
// decide anything: the rivals. With one replica late, that replica and the rivals say everything.
// Where groups meet in blocks of some replicas there are too many of them: then replicas are replayed one by
// one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/timing.h"
#include "sim/ops/op_graph.h"
#include "sim/recording/recording.h"

namespace goodput {

// By step of a block, the replicas with the longest or (for when that one is late itself) second longest path
// between some two meetings, as recorded and without launch delays; ascending. Of equal paths the first: what
// is read off the rivals differs from all lanes in the rounding of float64 sums at most.
// REQUIRES: every group meets within its replica or in all.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> find_rivals(const OpGraph& graph,
                                                                  const StepBlock& block,
                                                                  std::span<const OpId> finish_ops);

// Whether rivals are worth looking for: it takes a replay for every meeting.
[[nodiscard]] bool has_rivals_worth_finding(const OpGraph& graph, std::size_t replicas);

// When each step finishes with the recorded launch delays of one replica alone: by lane of the block.
[[nodiscard]] std::vector<double> late_replica_finishes(const OpGraph& graph, const StepBlock& block,
                                                        const std::vector<double>& delays_s,
                                                        std::span<const OpId> finish_ops);

}  // namespace goodput
