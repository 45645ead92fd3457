// Evens out the loads of GPUs on a cluster of any size: only replicas move that survival does not rest on, so
// that no move has to be checked. Small clusters: models/placement_search/checked_slot_moves.h.
#pragma once

#include <cstdint>
#include <span>

#include "models/placement_search/annealing.h"
#include "models/placement_search/checked_slot_moves.h"
#include "sim/base/random.h"

namespace goodput {

// Every expert has nodes that decide whether it survives: an innermost set of the layer
// (models/placement/node_sets.h) on which it stands. One replica on each of them stays where it is; all
// others are free to be swapped, or shifted: to become replicas of other experts. Experts may change roles,
// nodes and all; where nothing is shifted, those with as many replicas. Nothing that is survived is lost, and
// maximum rank overlap of the new replicas survives what it did before. `start` has loads.
[[nodiscard]] LayerOnGpus swap_free_slots(const LayerOnGpus& start, const Annealing& annealing,
                                          RandomStream& random);
[[nodiscard]] LayerOnGpus shift_free_slots(const LayerOnGpus& start, std::int32_t min_replicas,
                                           const Annealing& annealing, RandomStream& random);

}  // namespace goodput
