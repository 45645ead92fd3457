// Pools of nodes, each with failures of its own, seen as one cluster.
#pragma once

#include <memory>
#include <vector>

#include "sim/nodes/failure_model.h"

namespace goodput {

// The ids of a pool follow those of the pools before it. Nothing that happens in one pool moves another. Ends
// with the first that has an end(). REQUIRES: pools.
[[nodiscard]] std::unique_ptr<FailureModel> join_pools(std::vector<std::unique_ptr<FailureModel>> pools);

}  // namespace goodput
