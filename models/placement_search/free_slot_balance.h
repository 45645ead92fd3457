// Evening out the loads of GPUs by the replicas that survival does not rest on: for clusters of any size.
#pragma once

#include <cstdint>
#include <span>

#include "models/placement_search/annealing.h"
#include "models/placement_search/small_cluster_balance.h"
#include "sim/base/random.h"

namespace goodput {

// Every expert has nodes that decide whether it survives: an innermost set of the layer
// (models/placement/node_sets.h) on which it stands. One replica on each of them stays where it is; all
// others are free to be swapped, or shifted: to become replicas of other experts. Experts may change roles,
// nodes and all; where nothing is shifted, those with as many replicas. Nothing that is survived is lost, and
// maximum rank overlap of the new replicas survives what it did before. `start` has loads.
[[nodiscard]] BalancedLayer swap_free_slots(const BalancedLayer& start, const Annealing& annealing,
                                            RandomStream& random);
[[nodiscard]] BalancedLayer shift_free_slots(const BalancedLayer& start, std::int32_t min_replicas,
                                             const Annealing& annealing, RandomStream& random);

}  // namespace goodput
