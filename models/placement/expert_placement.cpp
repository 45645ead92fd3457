#include "models/placement/expert_placement.h"

#include <algorithm>

#include "sim/base/errors.h"

namespace goodput {

ExpertPlacement placement_of(std::span<const std::vector<std::int32_t>> nodes_of_expert, std::int32_t nodes,
                             std::int32_t slots) {
  const auto width = static_cast<std::size_t>(slots);
  ExpertPlacement placement{static_cast<std::int32_t>(nodes_of_expert.size()), nodes, slots,
                            std::vector<std::int32_t>(static_cast<std::size_t>(nodes) * width, -1)};
  std::vector<std::size_t> filled(static_cast<std::size_t>(nodes));
  for (std::size_t e = 0; e < nodes_of_expert.size(); ++e) {
    for (const std::int32_t node : nodes_of_expert[e]) {
      const auto n = static_cast<std::size_t>(node);
      GOODPUT_CHECK(filled[n] < width, "a node must have a slot for each of its replicas");
      placement.expert_at[n * width + filled[n]++] = static_cast<std::int32_t>(e);
    }
  }
  GOODPUT_CHECK(
      std::find(placement.expert_at.begin(), placement.expert_at.end(), -1) == placement.expert_at.end(),
      "every slot must hold a replica");
  return placement;
}

}  // namespace goodput
