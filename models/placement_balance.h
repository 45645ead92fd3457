// Evening out the loads of the nodes of a small cluster without losing survival.
#pragma once

#include <cstdint>
#include <vector>

#include "models/annealing.h"
#include "models/expert_placement.h"
#include "models/moe_placement.h"
#include "models/placement_search.h"

namespace goodput {

// By swapping replicas. `start` has to meet the floor of `goal`.
[[nodiscard]] ExpertPlacement anneal_balance(const ExpertPlacement& start, const LayerDemand& layer,
                                             const LatticeGoal& goal, const Annealing& annealing,
                                             RandomStream& random);

// A layer whose numbers of replicas may change too.
struct BalancedLayer {
  LayerDemand layer{};
  ExpertPlacement placement{};
};

// What shifting replicas has to leave alone.
struct ShiftLimits {
  std::int32_t min_replicas = 1;  // of any expert
  double max_load = 0;            // tokens of one replica: what one GPU of several could not share
};

// By swapping replicas and by turning replicas of one expert into replicas of another. The placement meets
// the floor of `goal`, and survives no less than maximum rank overlap and spread of its own replicas do.
[[nodiscard]] BalancedLayer anneal_replicas(const BalancedLayer& start, const ShiftLimits& limits,
                                            const LatticeGoal& goal, const Annealing& annealing,
                                            RandomStream& random);

}  // namespace goodput
