// The last step of the plan `best`: layers whose survival is settled get their GPUs balanced.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/placement_search/best_plan.h"
#include "models/placement_search/checked_slot_moves.h"

namespace goodput {

// By swapping replicas. What the layers survive together stays or grows.
void balance_layers(std::vector<ExpertPlacement>& layers, std::span<const LayerDemand> demands,
                    std::int32_t gpus_per_node, const SearchEffort& effort);

// By turning replicas of one expert into replicas of another too. What the layers survive together stays or
// grows; a single layer survives no less than maximum rank overlap and spread of its new replicas either. A
// layer keeps its replicas where others do not make the GPUs more even.
void shift_replicas(std::vector<ExpertPlacement>& layers, std::vector<LayerDemand>& demands,
                    std::int32_t min_replicas, std::int32_t gpus_per_node, const SearchEffort& effort);

// Layers of more slots are nearly even from the start: their replicas are not shifted.
inline constexpr std::size_t kMaxShiftedSlots = 1024;

}  // namespace goodput
