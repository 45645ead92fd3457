// What the best placement of given replicas survives, found by trying placements: the reference of the search
// of models/placement_search/best_plan.h. Linked into tests only; it shares nothing with the production code.
//
// Nodes are bits of a mask. Two placements that differ in the names of nodes survive as often.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace goodput::reference {

// How many sets of k failed nodes are survived, by k = 0..N.
using SurvivedSets = std::vector<std::int64_t>;

// `expert_nodes`: the nodes of each expert.
SurvivedSets survived_sets(std::span<const std::uint32_t> expert_nodes, std::int32_t nodes);

struct SurvivalOptimum {
  SurvivedSets most{};              // at every k, by any placement
  bool at_every_k_at_once = false;  // whether one placement is best at every k
  std::int64_t placements = 0;      // complete ones that were looked at
};

// Node after node is filled with every multiset of the replicas left, nodes in lexicographic order: all
// placements up to renaming nodes. For a dozen slots.
SurvivalOptimum try_all_placements(std::span<const std::int32_t> replicas, std::int32_t nodes,
                                   std::int32_t slots);

// The same answer for thirty slots and more: expert after expert, onto nodes that are told apart only by
// their free slots and by the experts on them that matter; what survives no more than `achieved` or a
// placement met before, at any k, is given up, as is what was met before under other names. `achieved`: what
// some placement survives; may be empty. Nothing when it takes more than `most_tried` partial placements. At
// most ten nodes and 48 experts.
std::optional<SurvivalOptimum> try_classes_of_nodes(std::span<const std::int32_t> replicas,
                                                    std::int32_t nodes, std::int32_t slots,
                                                    const SurvivedSets& achieved = {},
                                                    std::int64_t most_tried = 100'000'000);

// All ways to share `total` replicas out to `experts` experts, `least` each at least; ascending.
std::vector<std::vector<std::int32_t>> replica_vectors(std::int32_t experts, std::int32_t total,
                                                       std::int32_t least);

}  // namespace goodput::reference
