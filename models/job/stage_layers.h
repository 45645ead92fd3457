// Which layers with experts each position and each stage of a plan's pipeline holds.
//
// Layers with experts are numbered from 0, as those of JobRouting::loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/schedule/schedule.h"

namespace goodput {

// By position. Those of multi-token prediction are at the last one, each as the last layer that has a number.
// REQUIRES: check_training_plan(plan), model with experts.
[[nodiscard]] std::vector<std::vector<std::size_t>> expert_layers_by_position(
    const TrainingPlan& plan, const PipelineSchedule& schedule);

// What a stage holds.
struct StageLayers {
  std::vector<std::size_t> expert_layers{};  // ascending, without those of multi-token prediction
  double dense_share = 1;                    // of the model's parameters that are not routed experts
};
// REQUIRES: the same, and the schedule keeps one copy of each layer: keeps_one_copy().
[[nodiscard]] std::vector<StageLayers> layers_by_stage(const TrainingPlan& plan,
                                                       const PipelineSchedule& schedule);

// Whether no layer is on two stages, as in schedules that run in both directions.
[[nodiscard]] bool keeps_one_copy(const TrainingPlan& plan, const PipelineSchedule& schedule);

}  // namespace goodput
