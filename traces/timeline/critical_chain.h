// The chain of ops that determines when a step ends, read off the times of a timeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/ops/op_graph.h"
#include "traces/timeline/op_tracks.h"

namespace goodput {

// From the instance that ends last back to one that nothing precedes: of an op in a group to the member that
// started last (over all replicas where these meet), else to the predecessor that ended last; of equals the
// first, and the op itself before other members of its group. In order of time. What takes no time is left
// out, and so is what clocks that disagree put before its predecessor: of the chain, the points in time
// always rise. `times(op, dp_rank)`: of an instance.
[[nodiscard]] std::vector<FlowPoint> critical_chain(const OpGraph& graph, std::size_t replicas,
                                                    const std::function<OpTimes(OpId, std::size_t)>& times);

}  // namespace goodput
