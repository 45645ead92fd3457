// How the layers of a model spread over pipeline positions that do not divide them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/shape/model_shape.h"

namespace goodput {

// As ParallelPlan::layers_per_stage: the layers one by one to the position that has least to compute with it,
// where the output head and multi-token prediction count at the last position. Among equals the stage with
// fewest layers, then the one further back: 1F1B keeps fewer activations there. `stages`: of each position
// (stages_by_position() in models/schedule/schedule.h). Empty where more than the first and the last position
// were left without layers.
//
// Computation counts as multiply-adds a token: what recomputation, short matrices or communication make of it
// is left out, the same for all plans.
[[nodiscard]] std::vector<std::int32_t> spread_layers(const ModelShape& model, std::int64_t sequence_length,
                                                      std::span<const std::int32_t> stages);

}  // namespace goodput
