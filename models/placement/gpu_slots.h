// Which GPU of a node gets which of its slots, and how evenly that spreads the tokens. Every replica of an
// expert serves the same number of them (models/dispatch/dispatch.h), so a node or GPU carries the sum over
// its slots of load / replicas.
#pragma once

#include <cstdint>
#include <vector>

#include "models/placement/expert_placement.h"
#include "models/placement/placement_rules.h"

namespace goodput {

[[nodiscard]] std::vector<double> node_loads(const ExpertPlacement& placement, const LayerDemand& layer);

// Cuts the slots of every node up among its GPUs, evenly in number and nearly so in load: heaviest first to
// the least loaded GPU with room, then swaps while they help. Nothing else depends on it: GPUs of a node fail
// together. The result has a row of slots a GPU; GPU g of node n is row n * gpus_per_node + g.
// REQUIRES: gpus_per_node divides the slots.
[[nodiscard]] ExpertPlacement split_over_gpus(const ExpertPlacement& placement, const LayerDemand& layer,
                                              std::int32_t gpus_per_node);

// The placement with the slots of every node in the order of split_over_gpus: those of its first GPU, then
// the next.
[[nodiscard]] ExpertPlacement in_order_of_gpus(const ExpertPlacement& placement, const LayerDemand& layer,
                                               std::int32_t gpus_per_node);

// The largest load over the mean; 1 is even.
struct LoadImbalance {
  double node_max_over_mean = 1;
  double gpu_max_over_mean = 1;
};
// 1 for a layer without tokens.
[[nodiscard]] LoadImbalance load_imbalance(const ExpertPlacement& placement, const LayerDemand& layer,
                                           std::int32_t gpus_per_node);

}  // namespace goodput
