#include "models/step/gpu_parameters.h"

#include <algorithm>

namespace goodput {

std::vector<LayerRange> layers_by_position(const TrainingPlan& plan, std::int32_t positions) {
  std::vector<LayerRange> ranges;
  std::int32_t first = 0;
  for (std::int32_t position = 0; position < positions; ++position) {
    const auto& split = plan.parallel.layers_per_stage;
    const std::int32_t count =
        split.empty() ? plan.model.layers / positions : split[static_cast<std::size_t>(position)];
    ranges.push_back({first, count});
    first += count;
  }
  GOODPUT_CHECK(first == plan.model.layers, "the stages must hold every layer once");
  ranges.back().count += plan.model.mtp_layers;
  return ranges;
}

GpuParameters& GpuParameters::operator+=(const GpuParameters& other) {
  dense += other.dense;
  experts += other.experts;
  layers += other.layers;
  return *this;
}

namespace {

double routed_experts_held(const TrainingPlan& plan, ExpertSlots slots, double all) {
  if (!slots.are_used()) return all / static_cast<double>(slots.gpus_of_group(plan.parallel));
  return all > 0 ? all / plan.model.moe->experts * slots.per_gpu : 0;
}

// GPUs that share out an expert's optimizer state: on average where experts are placed one by one.
double expert_copies(const TrainingPlan& plan, ExpertSlots slots, double copies) {
  const ParallelPlan& parallel = plan.parallel;
  if (!slots.are_used()) return copies * parallel.tp / static_cast<double>(slots.gpus_of_group(parallel));
  return copies * parallel.tp * slots.per_gpu / plan.model.moe->experts;
}

}  // namespace

GpuParameters parameters_of(const TrainingPlan& plan, ExpertSlots slots, LayerRange range) {
  GpuParameters held;
  const double tp = plan.parallel.tp;
  for (std::int32_t layer = range.first; layer < range.first + range.count; ++layer) {
    const LayerParameters parameters = layer_parameters(plan.model, std::min(layer, plan.model.layers - 1));
    held.dense += static_cast<double>(parameters.total() - parameters.routed_experts) / tp;
    held.experts += routed_experts_held(plan, slots, static_cast<double>(parameters.routed_experts));
    // Projection and three norms of multi-token prediction; embedding and head are shared with the model.
    if (layer >= plan.model.layers)
      held.dense += 2.0 * plan.model.hidden * plan.model.hidden + 3.0 * plan.model.hidden;
    ++held.layers;
  }
  return held;
}

double parameters_of_expert(const ModelShape& model) {
  for (std::int32_t layer = 0; layer < model.layers; ++layer) {
    if (!model.is_moe_layer(layer)) continue;
    return static_cast<double>(layer_parameters(model, layer).routed_experts) / model.moe->experts;
  }
  return 0;
}

double embedding_parameters(const TrainingPlan& plan) {
  const BlockScope scope{plan.model, plan.parallel};
  return (scope.vocab_rows() + plan.model.learned_positions) * plan.model.hidden;
}

GpuParameters parameters_at(const TrainingPlan& plan, ExpertSlots slots,
                            const std::vector<LayerRange>& layers, std::int32_t position, PipelineEnds ends) {
  GpuParameters held = parameters_of(plan, slots, layers[static_cast<std::size_t>(position)]);
  const bool is_last = static_cast<std::size_t>(position) + 1 == layers.size();
  if (position == 0) held.dense += embedding_parameters(plan);
  const bool has_embedding = position == 0 || ends == PipelineEnds::kTogether;
  if (is_last && !(has_embedding && plan.model.tied_head)) {
    held.dense += BlockScope{plan.model, plan.parallel}.vocab_rows() * plan.model.hidden;
  }
  return held;
}

std::int32_t model_copies(const ParallelPlan& plan, const PipelineSchedule& schedule) {
  const ScheduleShape shape = schedule_shape(plan);
  return plan.dp * plan.cp * (shape.stages * schedule.chunks(shape) / schedule.positions(shape));
}

double owned_parameters(const TrainingPlan& plan, ExpertSlots slots, const PipelineSchedule& schedule,
                        const GpuParameters& held) {
  // Instances divide the replicas (check_training_plan).
  const std::int32_t of_instance = model_copies(plan.parallel, schedule) / plan.parallel.sharding_instances();
  const double copies = of_instance;
  return held.dense / copies + held.experts / expert_copies(plan, slots, copies);
}

ScheduleShape schedule_shape(const ParallelPlan& plan) {
  return {plan.pp, plan.vpp, static_cast<std::int32_t>(plan.micro_batches())};
}

}  // namespace goodput
