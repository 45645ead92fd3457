// How many replicas each expert of an MoE layer gets.
//
// All arithmetic is on integers. Loads are tokens routed to an expert, r_e its replicas, N nodes of c replica
// slots each. Every allocation gives sum r_e = N*c, r_e >= the minimum it says it used, and more replicas to
// no expert with fewer tokens (ties by number of the expert).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

enum class Allocation {
  kEq1,      // Lazarus (arXiv 2407.04656), Eq. 1: in proportion to the load
  kEplb,     // DeepSeek's EPLB: every spare replica to the expert with the highest load a replica
  kBalanced  // EPLB's rule, on top of what Eq. 1 gives the experts that decide survival
};
inline constexpr std::string_view kAllocationNames[] = {"eq1", "eplb", "balanced"};

struct SlotGrid {
  std::int32_t nodes = 0;
  std::int32_t slots = 0;  // of a node
  [[nodiscard]] std::int64_t total() const { return std::int64_t{nodes} * slots; }
};

struct ReplicaCounts {
  std::vector<std::int32_t> replicas{};  // by expert
  std::int32_t min_replicas = 0;  // the threshold f really used: lowered to floor(N*c/E) where it must be
};

// Errors: fewer slots than experts, no experts, a negative load, loads beyond 2^63 in sum, f < 1, no nodes or
// slots, more than 2^20 slots.
[[nodiscard]] Status check_allocation(std::span<const std::int64_t> loads, const SlotGrid& grid,
                                      std::int32_t min_replicas);

// `min_replicas` is f, the replicas below which no expert may fall. Errors: those of check_allocation.
[[nodiscard]] Result<ReplicaCounts> allocate_replicas(Allocation allocation,
                                                      std::span<const std::int64_t> loads,
                                                      const SlotGrid& grid, std::int32_t min_replicas);

// Experts by (replicas, load, id), ascending: the order in which placements group them. `loads` may be empty:
// then by (replicas, id).
[[nodiscard]] std::vector<std::int32_t> experts_by_replicas(std::span<const std::int32_t> replicas,
                                                            std::span<const std::int64_t> loads);

}  // namespace goodput
