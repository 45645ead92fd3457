// One truncated layer: the placement that survives most, by search.
#pragma once

#include <vector>

#include "models/placement/expert_placement.h"
#include "models/placement/placement_rules.h"
#include "models/placement_search/best_plan.h"

namespace goodput {

// Plans to start from: maximum rank overlap, also with the short group elsewhere and with groups of equal
// sizes, and spread, by number and by replicas.
[[nodiscard]] std::vector<ExpertPlacement> starting_plans(const LayerDemand& layer, const SlotGrid& grid);

[[nodiscard]] ExpertPlacement search_layer(const LayerDemand& layer, const SlotGrid& grid,
                                           const SearchEffort& effort);

}  // namespace goodput
