// How the tokens of a micro-batch spread over expert-parallel GPUs.
#pragma once

#include <cstdint>
#include <vector>

#include "models/layer_work.h"
#include "models/training_plan.h"

namespace goodput {

// By expert-parallel rank, for one layer; one entry where loads are balanced. Expert shares follow
// 1/rank^skew over an order drawn per layer; rank j hosts experts [j, j+1) * experts/ep.
[[nodiscard]] std::vector<ExpertShare> expert_shares(const TrainingPlan& plan, const ExpertShare& balanced,
                                                     std::int32_t layer, std::uint64_t seed);

}  // namespace goodput
