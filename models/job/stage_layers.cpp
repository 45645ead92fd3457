#include "models/job/stage_layers.h"

#include <algorithm>

#include "models/schedule/schedule.h"
#include "models/step/gpu_parameters.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

const PipelineSchedule& schedule_of(const ParallelPlan& plan) {
  const Result<const PipelineSchedule*> schedule = find_schedule(plan.schedule);
  GOODPUT_CHECK(schedule.has_value(), "the schedule of the plan must exist");
  return **schedule;
}

// By layer of the model; -1: it has no experts.
std::vector<std::int32_t> numbers_of_expert_layers(const ModelShape& model) {
  std::vector<std::int32_t> numbers;
  std::int32_t next = 0;
  for (std::int32_t layer = 0; layer < model.layers; ++layer)
    numbers.push_back(model.is_moe_layer(layer) ? next++ : -1);
  return numbers;
}

}  // namespace

std::vector<std::vector<std::size_t>> expert_layers_by_position(const TrainingPlan& plan) {
  const PipelineSchedule& schedule = schedule_of(plan.parallel);
  const std::vector<std::int32_t> numbers = numbers_of_expert_layers(plan.model);
  std::vector<std::vector<std::size_t>> by_position;
  for (const LayerRange range : layers_by_position(plan, schedule.positions(schedule_shape(plan.parallel)))) {
    std::vector<std::size_t>& here = by_position.emplace_back();
    for (std::int32_t layer = range.first; layer < range.first + range.count; ++layer) {
      const std::int32_t number = numbers[index(std::min(layer, plan.model.layers - 1))];
      if (number >= 0) here.push_back(index(number));
    }
  }
  return by_position;
}

std::vector<StageLayers> layers_by_stage(const TrainingPlan& plan) {
  const PipelineSchedule& schedule = schedule_of(plan.parallel);
  const ScheduleShape shape = schedule_shape(plan.parallel);
  const std::vector<std::int32_t> stage_of = stages_by_position(schedule, shape);
  const auto positions = static_cast<std::int32_t>(stage_of.size());
  const std::vector<LayerRange> ranges = layers_by_position(plan, positions);
  const std::vector<std::int32_t> numbers = numbers_of_expert_layers(plan.model);
  std::vector<StageLayers> stages(index(plan.parallel.pp), {{}, 0});
  double all = 0;
  for (std::int32_t position = 0; position < positions; ++position) {
    StageLayers& stage = stages[index(stage_of[index(position)])];
    const LayerRange range = ranges[index(position)];
    const std::int32_t end = std::min(range.first + range.count, plan.model.layers);
    for (std::int32_t layer = range.first; layer < end; ++layer) {
      if (numbers[index(layer)] >= 0) stage.expert_layers.push_back(index(numbers[index(layer)]));
    }
    const double dense = parameters_at(plan, {}, ranges, position, pipeline_ends(schedule, shape)).dense;
    stage.dense_share += dense;
    all += dense;
  }
  for (StageLayers& stage : stages) {
    std::ranges::sort(stage.expert_layers);
    stage.dense_share /= all;
  }
  return stages;
}

bool keeps_one_copy(const ParallelPlan& plan) {
  const PipelineSchedule& schedule = schedule_of(plan);
  const ScheduleShape shape = schedule_shape(plan);
  return schedule.chunks(shape) * shape.stages == schedule.positions(shape);
}

}  // namespace goodput
