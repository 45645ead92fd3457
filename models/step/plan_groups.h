// Which GPUs meet in the collectives of a plan.
//
// Megatron numbers the ranks of a stage tensor-parallel first, then context, then data. Experts are laid over
// the same ranks anew: expert-tensor first, then expert-parallel, then the copies ("parallel folding", arXiv
// 2504.14960).
#pragma once

#include <cstdint>

#include "models/plan/expert_slots.h"
#include "models/plan/parallel_plan.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// Splits the dp x cp x tp ranks of a stage into groups: `size` ranks, each `stride` after the one before.
struct RankGroups {
  std::int32_t size = 1;
  std::int64_t stride = 1;

  // The lowest rank of the group that a rank belongs to.
  [[nodiscard]] std::int64_t first_of(std::int64_t rank) const {
    return rank / (size * stride) * (size * stride) + rank % stride;
  }
  // How they lie on nodes. REQUIRES: ranks fill nodes one after the other.
  [[nodiscard]] GpuGroup on_nodes(std::int32_t gpus_per_node) const;
};

struct RankLayout {
  RankGroups tensor;
  RankGroups context;
  RankGroups data;           // that hold the same dense parameters: dp * cp
  RankGroups expert;         // that share out the experts of a layer
  RankGroups expert_tensor;  // that share each expert
  RankGroups expert_data;    // that hold the same experts

  explicit RankLayout(const ParallelPlan& plan, ExpertSlots slots = {});
};

// The same as groups of GPUs.
struct PlanGroups {
  GpuGroup tensor;
  GpuGroup context;
  GpuGroup data;
  GpuGroup expert;
  GpuGroup expert_tensor;
  GpuGroup expert_data;

  PlanGroups(const ParallelPlan& plan, std::int32_t gpus_per_node, ExpertSlots slots = {});
};

}  // namespace goodput
