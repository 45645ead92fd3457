// How the tokens of a micro-batch spread over the GPUs that hold experts.
#pragma once

#include <cstdint>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/step/layer_work.h"

namespace goodput {

// By expert-parallel rank, for one layer; one entry where loads are balanced. Expert shares follow
// 1/rank^skew over an order drawn per layer; rank j hosts experts [j, j+1) * experts/ep.
[[nodiscard]] std::vector<ExpertShare> expert_shares(const TrainingPlan& plan, const ExpertShare& balanced,
                                                     std::int32_t layer, std::uint64_t seed);

// Experts of a GPU that are held by groups of one kind: their gradients are summed over it one by one.
struct ReplicaGroup {
  GpuGroup group;
  std::int32_t experts = 0;  // over all layers of a position of the pipeline
};

// What a step's experts get to do and where their replicas are.
struct StepRouting {
  // By layer, those of multi-token prediction behind the others; nothing where a layer has no experts. One
  // entry, of the GPU that has most to do, or one an expert-parallel rank.
  std::vector<std::vector<ExpertShare>> shares;
  // By position of the pipeline: of the GPU whose experts' replicas send most to each other. Empty, or
  // nothing at a position: every expert's are the plan's PlanGroups::expert_data.
  std::vector<std::vector<ReplicaGroup>> replicas;
  // Whether every GPU computes the schedule of a dispatch, once per layer with experts and forward pass: that
  // is counted if the cost model knows its time.
  bool computes_schedules = false;
  ExpertSlots slots{};     // of every GPU; none: experts are where the plan's own groups have them
  double moe_speedup = 1;  // of all-to-alls and the experts' FFNs over what the cost model says
};

// That of plan.expert_load; `seed` draws which experts are popular.
[[nodiscard]] StepRouting drawn_routing(const TrainingPlan& plan, std::uint64_t seed);

}  // namespace goodput
