// Which layers with experts each position and each stage of a plan's pipeline holds.
//
// Layers with experts are numbered from 0, as those of JobRouting::loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/plan/training_plan.h"

namespace goodput {

// By position. Those of multi-token prediction are at the last one, each as the last layer of the model.
// REQUIRES here and below: check_training_plan(plan), model with experts.
[[nodiscard]] std::vector<std::vector<std::size_t>> expert_layers_by_position(const TrainingPlan& plan);

// What a stage holds.
struct StageLayers {
  std::vector<std::size_t> expert_layers{};  // ascending, without those of multi-token prediction
  double dense_share = 1;                    // of the model's parameters that are not routed experts
};
// REQUIRES: keeps_one_copy(plan.parallel).
[[nodiscard]] std::vector<StageLayers> layers_by_stage(const TrainingPlan& plan);

// Whether no layer is on two stages, as in schedules that run in both directions.
[[nodiscard]] bool keeps_one_copy(const ParallelPlan& plan);

}  // namespace goodput
