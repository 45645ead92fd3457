// Evening out the loads of the GPUs of a small cluster without losing survival.
#pragma once

#include <cstdint>
#include <vector>

#include "models/placement/expert_placement.h"
#include "models/placement/placement_plans.h"
#include "models/placement_search/annealing.h"
#include "models/placement_search/survival_search.h"

namespace goodput {

// A layer that is being balanced. Its numbers of replicas may change too.
struct BalancedLayer {
  LayerDemand layer{};
  ExpertPlacement placement{};
  std::int32_t gpus = 1;  // of a node; they share its slots (split_over_gpus)
};

// By swapping replicas. `start` has to meet the floor of `goal`.
[[nodiscard]] BalancedLayer anneal_balance(const BalancedLayer& start, const LatticeGoal& goal,
                                           const Annealing& annealing, RandomStream& random);

// By swapping replicas and by turning replicas of one expert into replicas of another, of which none has
// fewer than `min_replicas`. The placement meets the floor of `goal`, and survives no less than maximum rank
// overlap and spread of its own replicas do.
[[nodiscard]] BalancedLayer anneal_replicas(const BalancedLayer& start, std::int32_t min_replicas,
                                            const LatticeGoal& goal, const Annealing& annealing,
                                            RandomStream& random);

}  // namespace goodput
