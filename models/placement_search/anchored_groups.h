// Groups of maximum rank overlap for many layers at once, with the slots that survival does not need used for
// balance.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/placement/placement_rules.h"

namespace goodput {

// The nodes of group i of every layer, by layer and group. The smallest group i of all layers is part of
// every group i, so that a failure that is fatal to one layer is fatal to no more for the others' sake.
// `layers`: groups of each layer; their nodes fit into `nodes` layer by layer.
[[nodiscard]] std::vector<std::vector<std::vector<std::int32_t>>> anchored_node_sets(
    std::span<const std::vector<ExpertGroup>> layers, std::int32_t nodes);

// Puts the groups on their nodes and the replicas left over, heaviest first, on the node with the least load
// that has a free slot.
[[nodiscard]] ExpertPlacement place_groups_balanced(const LayerDemand& layer, const SlotGrid& grid,
                                                    std::span<const ExpertGroup> groups,
                                                    std::span<const std::vector<std::int32_t>> node_sets);

}  // namespace goodput
