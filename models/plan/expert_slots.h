// Where routed experts are when a plan's own groups do not say: any expert anywhere, in slots of the GPUs.
#pragma once

#include <cstdint>

#include "models/plan/parallel_plan.h"

namespace goodput {

// Of every GPU, in every layer with experts. Slots hold whole experts, each of them any number of replicas:
// tensor parallelism does not cut experts up, and ep counts GPUs, inside dp * cp * tp.
struct ExpertSlots {
  std::int32_t per_gpu = 0;  // 0: none, a GPU holds experts / ep as the plan says, cut up over etp
  // The experts of a routing group (MoeShape::expert_groups) are on any nodes, not side by side.
  bool scatter_groups = false;

  [[nodiscard]] bool are_used() const { return per_gpu > 0; }
  // GPUs that an expert is cut up over.
  [[nodiscard]] std::int32_t tp_of_expert(const ParallelPlan& plan) const {
    return are_used() ? 1 : plan.expert_tp();
  }
  // GPUs that together hold all experts of a layer once.
  [[nodiscard]] std::int64_t gpus_of_group(const ParallelPlan& plan) const {
    return std::int64_t{plan.ep} * tp_of_expert(plan);
  }
};

}  // namespace goodput
