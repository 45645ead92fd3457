// Slots that repeat an expert which their GPU already holds. Such a slot wastes memory: tokens still have the
// same GPUs to go to, and that GPU only gets a larger share of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "models/placement/expert_placement.h"

namespace goodput {

struct RepeatedSlots {
  std::int64_t slots = 0;  // in all layers; a GPU that holds an expert r times has r - 1 of them
  std::int64_t of = 0;     // all slots of all layers
  // The first of them: by layer, then GPU, then expert.
  std::size_t layer = 0;  // position in the layers given
  std::int32_t gpu = 0;
  std::int32_t expert = 0;
};

// None if no GPU holds an expert more than once. `layers`: a row of slots per GPU, experts of a row ascending
// (split_over_gpus in models/placement/gpu_slots.h).
[[nodiscard]] std::optional<RepeatedSlots> repeated_slots(std::span<const ExpertPlacement> layers);

}  // namespace goodput
