#include "models/step/plan_groups.h"

#include <algorithm>

namespace goodput {
namespace {

std::int32_t copies_of_experts(const ParallelPlan& plan, ExpertSlots slots) {
  return static_cast<std::int32_t>(std::int64_t{plan.dp} * plan.cp * plan.tp / slots.gpus_of_group(plan));
}

}  // namespace

GpuGroup RankGroups::on_nodes(std::int32_t gpus_per_node) const {
  const auto together = static_cast<std::int32_t>(gpus_per_node / stride);
  return {size, std::clamp(together, 1, size)};
}

RankLayout::RankLayout(const ParallelPlan& plan, ExpertSlots slots)
    : tensor{plan.tp, 1},
      context{plan.cp, plan.tp},
      data{plan.dp * plan.cp, plan.tp},
      expert{plan.ep, slots.tp_of_expert(plan)},
      expert_tensor{slots.tp_of_expert(plan), 1},
      expert_data{copies_of_experts(plan, slots), slots.gpus_of_group(plan)} {}

PlanGroups::PlanGroups(const ParallelPlan& plan, std::int32_t gpus_per_node, ExpertSlots slots) {
  const RankLayout ranks(plan, slots);
  tensor = ranks.tensor.on_nodes(gpus_per_node);
  context = ranks.context.on_nodes(gpus_per_node);
  data = ranks.data.on_nodes(gpus_per_node);
  expert = ranks.expert.on_nodes(gpus_per_node);
  expert_tensor = ranks.expert_tensor.on_nodes(gpus_per_node);
  expert_data = ranks.expert_data.on_nodes(gpus_per_node);
}

}  // namespace goodput
