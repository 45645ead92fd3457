#include "models/step/zero_groups.h"

#include <algorithm>
#include <numeric>

#include "models/step/gpu_parameters.h"
#include "models/step/plan_groups.h"

namespace goodput {
namespace {

std::int32_t ceil_div(std::int64_t a, std::int64_t b) {
  return static_cast<std::int32_t>((a + b - 1) / b);
}

// That so many GPUs side by side touch at most, wherever a multiple of `span` begins: one more than need be
// where nodes do not hold whole spans.
std::int32_t most_nodes_touched(std::int64_t span, std::int64_t gpus_per_node) {
  return 1 + ceil_div(span - std::gcd(span, gpus_per_node), gpus_per_node);
}

// `copies`: of one direction of the pipeline, over all instances; `size`: of both. An instance's replicas are
// `span` GPUs of a stage.
ShardedOver sharded(GpuGroup copies, std::int32_t size, std::int32_t instances, std::int64_t span,
                    std::int32_t gpus_per_node) {
  if (instances == 1) return {{size, copies.per_node}, {1, 1}};
  const std::int32_t own = copies.size / instances;
  GpuGroup shards{own, std::min(copies.per_node, own)};
  const std::int32_t touched = most_nodes_touched(span, gpus_per_node);
  if (shards.nodes() < touched) shards.per_node = std::min(shards.per_node, ceil_div(own, touched));
  shards.size = size / instances;
  const auto together = static_cast<std::int32_t>(gpus_per_node / span);
  return {shards, {instances, std::clamp(together, 1, instances)}};
}

}  // namespace

ZeroGroups zero_groups(const TrainingPlan& plan, const PipelineSchedule& schedule, ExpertSlots slots) {
  const ParallelPlan& parallel = plan.parallel;
  const std::int32_t per_node = plan.cluster.gpus_per_node;
  const PlanGroups groups(parallel, per_node, slots);
  const std::int32_t instances = parallel.sharding_instances();
  const std::int32_t copies = model_copies(parallel, schedule);
  const auto of_experts =
      static_cast<std::int32_t>(std::int64_t{copies} * parallel.tp / slots.gpus_of_group(parallel));
  const std::int64_t span = std::int64_t{parallel.dp} * parallel.cp * parallel.tp / instances;
  return {sharded(groups.data, copies, instances, span, per_node),
          sharded(groups.expert_data, of_experts, instances, span, per_node)};
}

}  // namespace goodput
