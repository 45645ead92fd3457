// Evens out the loads of GPUs on a small cluster: any replica may move, and every move is checked against the
// table of all failure sets (models/placement_search/failure_lattice.h), so that no survival is lost. On
// larger clusters: models/placement_search/free_slot_moves.h.
#pragma once

#include <cstdint>
#include <vector>

#include "models/placement/expert_placement.h"
#include "models/placement/placement_rules.h"
#include "models/placement_search/annealing.h"
#include "models/placement_search/survival_search.h"

namespace goodput {

// A layer that is being balanced. Its numbers of replicas may change too.
struct LayerOnGpus {
  LayerDemand layer{};
  ExpertPlacement placement{};
  std::int32_t gpus = 1;  // of a node; they share its slots (split_over_gpus)
};

// By swapping replicas. `start` has to meet the floor of `goal`.
[[nodiscard]] LayerOnGpus swap_checked_slots(const LayerOnGpus& start, const LatticeGoal& goal,
                                             const Annealing& annealing, RandomStream& random);

// By swapping replicas and by turning replicas of one expert into replicas of another, of which none has
// fewer than `min_replicas`. The placement meets the floor of `goal`, and survives no less than maximum rank
// overlap and spread of its own replicas do.
[[nodiscard]] LayerOnGpus shift_checked_slots(const LayerOnGpus& start, std::int32_t min_replicas,
                                              const LatticeGoal& goal, const Annealing& annealing,
                                              RandomStream& random);

}  // namespace goodput
