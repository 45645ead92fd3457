// Which replica goes where: the placement plans of one MoE layer that are made in one go. The plan `best`,
// which searches, and layers that fail together are in models/placement_search/best_plan.h.
//
// A plan never changes how many replicas an expert has (models/placement/replica_allocation.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/placement/expert_placement.h"
#include "models/placement/replica_allocation.h"

namespace goodput {

// Replicas and loads by expert. `loads` may be empty: then ties go by the number of the expert, and the plans
// that balance take every replica to carry as much.
struct LayerDemand {
  std::vector<std::int32_t> replicas{};
  std::vector<std::int64_t> loads{};

  [[nodiscard]] std::int32_t experts() const { return static_cast<std::int32_t>(replicas.size()); }
  // Tokens that one replica of the expert serves.
  [[nodiscard]] double load_per_replica(std::int32_t expert) const;
};

// Experts that stand together on `nodes` nodes, which hold one replica of each.
struct ExpertGroup {
  std::vector<std::int32_t> experts{};
  std::int32_t nodes = 0;
};

// Lazarus' groups: c consecutive experts in ascending order of replicas, on as many nodes as the first of
// them has replicas; the last group on what is left of the nodes, if that is less.
[[nodiscard]] std::vector<ExpertGroup> overlap_groups(const LayerDemand& layer, const SlotGrid& grid);

// Whether the last group got all the nodes it wants. Then, and only then, maximum rank overlap is known to
// survive as often as any placement of these replicas can, whatever number of nodes fails
// (docs/validation.md).
[[nodiscard]] bool is_untruncated(const LayerDemand& layer, const SlotGrid& grid);

// Puts group i on nodes node_sets[i] and the replicas left over, in order of overlap_groups, each on the
// emptiest node, of several the first. REQUIRES: node sets are disjoint, of the groups' sizes.
[[nodiscard]] ExpertPlacement place_groups(const LayerDemand& layer, const SlotGrid& grid,
                                           std::span<const ExpertGroup> groups,
                                           std::span<const std::vector<std::int32_t>> node_sets);

// REQUIRES, for all: replicas are at least 1 and add up to the slots (check_replicas).

// Maximum rank overlap (Lazarus): the groups on consecutive nodes from node 0.
[[nodiscard]] ExpertPlacement place_mro(const LayerDemand& layer, const SlotGrid& grid);
// Replica i of the running count over experts in order of their numbers: on node i mod N.
[[nodiscard]] ExpertPlacement place_spread(const LayerDemand& layer, const SlotGrid& grid);
// Node after node is filled with experts in order of their numbers.
[[nodiscard]] ExpertPlacement place_compact(const LayerDemand& layer, const SlotGrid& grid);
// DeepSeek's EPLB: replicas by descending load, each on the least loaded GPU with a free slot; blind to what
// fails together. REQUIRES: gpus_per_node divides the slots.
[[nodiscard]] ExpertPlacement place_eplb(const LayerDemand& layer, const SlotGrid& grid,
                                         std::int32_t gpus_per_node);

// Errors: no counts, one below 1, a sum other than nodes x slots.
[[nodiscard]] Status check_replicas(std::span<const std::int32_t> replicas, const SlotGrid& grid);

}  // namespace goodput
