// How much an op may be late: what the times of a TimingEngine and its critical paths are checked against.
#pragma once

#include <vector>

#include "sim/engine/timing.h"
#include "sim/ops/op_graph.h"

namespace goodput::testing {

// How much longer each op may take before its step ends later: rows of stride() entries, op-major. Zero on
// the critical path. REQUIRES: `timing` is of `graph`, kAllTimes, and propagate(values) was the last pass.
[[nodiscard]] std::vector<double> compute_slack(const OpGraph& graph, const TimingEngine& timing,
                                                const OpValues& values);

}  // namespace goodput::testing
