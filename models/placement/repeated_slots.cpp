#include "models/placement/repeated_slots.h"

namespace goodput {

std::optional<RepeatedSlots> repeated_slots(std::span<const ExpertPlacement> layers) {
  RepeatedSlots repeated;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    repeated.of += static_cast<std::int64_t>(layers[l].expert_at.size());
    for (std::int32_t gpu = 0; gpu < layers[l].nodes; ++gpu) {
      const auto row = layers[l].node(gpu);
      for (std::size_t slot = 1; slot < row.size(); ++slot) {
        if (row[slot] != row[slot - 1]) continue;
        if (repeated.slots++ > 0) continue;
        repeated.layer = l;
        repeated.gpu = gpu;
        repeated.expert = row[slot];
      }
    }
  }
  if (repeated.slots == 0) return std::nullopt;
  return repeated;
}

}  // namespace goodput
