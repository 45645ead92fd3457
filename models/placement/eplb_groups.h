// DeepSeek's EPLB with groups of experts (its num_groups). If routing limits a token to a few groups, as in
// DeepSeek-V3, and each group stays on one node, tokens reach few nodes.
//
// A group is a run of consecutive experts; all groups have the same size. If the N nodes divide the G groups:
//   1. Every node gets G / N groups: the heaviest goes first, to the node with the least load that has room.
//   2. Each node replicates its own experts in its own slots (Allocation::kEplb).
//   3. The slots of a node go to its GPUs (split_over_gpus in models/placement/gpu_slots.h).
// Otherwise EPLB places all experts as one group (place_eplb in models/placement/placement_rules.h).
// Source: rebalance_experts() of github.com/deepseek-ai/EPLB.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/placement/expert_placement.h"
#include "models/placement/replica_allocation.h"
#include "sim/base/errors.h"

namespace goodput {

// Errors: fewer than 1 group; groups that do not divide the experts.
[[nodiscard]] Status check_expert_groups(std::int32_t groups, std::int64_t experts);

// Whether every group stays on one node: nodes divide the groups. Otherwise EPLB places all experts as one
// group.
[[nodiscard]] constexpr bool keeps_groups_on_nodes(std::int32_t groups, std::int32_t nodes) {
  return nodes > 0 && groups % nodes == 0;
}

// The node of each group (step 1). At the end no two nodes differ by more than the load of the heaviest
// group. `loads`: tokens by group. Ties: the first group, the first node. REQUIRES: keeps_groups_on_nodes().
[[nodiscard]] std::vector<std::int32_t> nodes_of_groups(std::span<const std::int64_t> loads,
                                                        std::int32_t nodes);

struct GroupedExperts {
  ReplicaCounts counts{};
  ExpertPlacement placement{};  // all replicas of an expert are on the node of its group
};

// Steps 1 and 2 for one layer; `loads` by expert. Errors: those of check_expert_groups and allocate_replicas;
// slots of a node that do not hold the experts of its groups. REQUIRES: keeps_groups_on_nodes().
[[nodiscard]] Result<GroupedExperts> place_eplb_groups(std::span<const std::int64_t> loads,
                                                       const SlotGrid& grid, std::int32_t groups,
                                                       std::int32_t min_replicas);

}  // namespace goodput
