// Who sends which expert to whom, so that every node holds what a new placement wants of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/migration/node_experts.h"

namespace goodput {

// One expert's weights and optimizer states, from a node to another. Nodes are positions among the live ones.
struct ExpertTransfer {
  std::int32_t layer = 0;
  std::int32_t expert = 0;
  std::int32_t from = 0;
  std::int32_t to = 0;

  friend auto operator<=>(const ExpertTransfer&, const ExpertTransfer&) = default;
};

// An expert that a node is to hold and no live node holds.
struct ExpertRestore {
  std::int32_t layer = 0;
  std::int32_t expert = 0;
  std::int32_t to = 0;

  friend auto operator<=>(const ExpertRestore&, const ExpertRestore&) = default;
};

// Both lists ascend; together they are what newly_assigned_experts() counted.
struct ExpertMoves {
  std::vector<ExpertTransfer> transfers{};
  std::vector<ExpertRestore> from_checkpoint{};  // not empty: this state cannot be had from the nodes alone
};

// `physical_of` says which node of `held` takes each place of the new placement. Every missing expert is
// fetched once, from a node that held it before. Requests with the fewest owners choose first (then by layer,
// expert, receiver), each the owner with the least to send so far, then the lowest: the busiest sender has
// little more than it must (docs/validation.md).
[[nodiscard]] ExpertMoves plan_transfers(const NodeExperts& held, const NodeExperts& plan,
                                         std::span<const std::int32_t> physical_of);

// Experts that the busiest nodes send and receive.
struct TransferPeaks {
  std::int64_t sent = 0;
  std::int64_t received = 0;
};
[[nodiscard]] TransferPeaks transfer_peaks(std::span<const ExpertTransfer> transfers, std::int32_t nodes);

}  // namespace goodput
