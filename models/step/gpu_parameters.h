// Which parameters a GPU of the pipeline holds.
#pragma once

#include <cstdint>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/schedule/schedule.h"
#include "models/step/block_work.h"

namespace goodput {

// Layers [first, first + count) of the model; those of multi-token prediction, numbered from model.layers on,
// belong to the last position.
struct LayerRange {
  std::int32_t first = 0;
  std::int32_t count = 0;
};
// By position of the pipeline.
[[nodiscard]] std::vector<LayerRange> layers_by_position(const TrainingPlan& plan, std::int32_t positions);

// Numbers of parameters on one GPU.
struct GpuParameters {
  double dense = 0;    // replicated over data and context parallelism
  double experts = 0;  // replicated over the GPUs with the same experts
  std::int32_t layers = 0;

  GpuParameters& operator+=(const GpuParameters& other);
};

[[nodiscard]] GpuParameters parameters_of(const TrainingPlan& plan, ExpertSlots slots, LayerRange range);
// With the embedding at the first position and the output projection at the last. If both are on one stage, a
// tied weight is held once, at the first position.
[[nodiscard]] GpuParameters parameters_at(const TrainingPlan& plan, ExpertSlots slots,
                                          const std::vector<LayerRange>& layers, std::int32_t position,
                                          PipelineEnds ends = PipelineEnds::kApart);

// GPUs that hold the same dense parameters: dp * cp, twice that where the pipeline runs in both directions
// and every layer has a copy on another stage.
[[nodiscard]] std::int32_t model_copies(const ParallelPlan& plan, const PipelineSchedule& schedule);
// What is left of `held` for one GPU where ZeRO shares it out over the copies of an instance.
[[nodiscard]] double owned_parameters(const TrainingPlan& plan, ExpertSlots slots,
                                      const PipelineSchedule& schedule, const GpuParameters& held);

// 0 for a model without experts.
[[nodiscard]] double parameters_of_expert(const ModelShape& model);

// The rows of the input table and of learned positions on one GPU, in parameters.
[[nodiscard]] double embedding_parameters(const TrainingPlan& plan);

[[nodiscard]] ScheduleShape schedule_shape(const ParallelPlan& plan);

}  // namespace goodput
