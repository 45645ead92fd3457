// Which expert sits in which replica slot of which node: the placement of one MoE layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace goodput {

// Every slot holds one replica. A node may hold several replicas of one expert; how a node's slots are cut up
// among its GPUs is another matter (split_over_gpus in models/placement/gpu_slots.h).
struct ExpertPlacement {
  std::int32_t experts = 0;
  std::int32_t nodes = 0;
  std::int32_t slots = 0;                 // of a node
  std::vector<std::int32_t> expert_at{};  // nodes x slots; experts of a node ascend

  [[nodiscard]] std::span<const std::int32_t> node(std::int32_t n) const {
    return std::span(expert_at).subspan(static_cast<std::size_t>(n) * static_cast<std::size_t>(slots),
                                        static_cast<std::size_t>(slots));
  }
  [[nodiscard]] std::span<std::int32_t> node(std::int32_t n) {
    return std::span(expert_at).subspan(static_cast<std::size_t>(n) * static_cast<std::size_t>(slots),
                                        static_cast<std::size_t>(slots));
  }
  friend bool operator==(const ExpertPlacement&, const ExpertPlacement&) = default;
};

// The placement that has the replicas of each expert on these nodes, a node as often as it holds one.
// REQUIRES: every node is named `slots` times.
[[nodiscard]] ExpertPlacement placement_of(std::span<const std::vector<std::int32_t>> nodes_of_expert,
                                           std::int32_t nodes, std::int32_t slots);

}  // namespace goodput
