// What every op of a planned step costs, in whole nanoseconds.
#pragma once

#include <cstdint>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/schedule/schedule.h"
#include "models/step/block_prices.h"
#include "models/step/op_pricer.h"
#include "models/step/step_routing.h"
#include "sim/base/units.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// What the model chunk at one position of the pipeline takes: its passes for one micro-batch, the rest once a
// step.
struct ChunkCosts {
  std::vector<PartCost> forward;
  std::vector<PartCost> backward;         // all gradients
  std::vector<PartCost> backward_input;   // gradients of activations only
  std::vector<PartCost> backward_weight;  // and those left out
  Transfer params_gather;                 // what of it the passes do not hide
  Transfer gradient_reduction;            // the same
  Transfer send_onward;                   // activations to the next position, gradients back
};

// Once a step and stage.
struct StageCosts {
  SimDuration layernorm_reduction{};
  SimDuration clip{};  // the norm of the gradients, over all GPUs
  SimDuration optimizer{};
};

struct StepCosts {
  std::vector<ChunkCosts> chunks;  // by position
  std::vector<StageCosts> stages;
  Transfer embedding_reduction;      // between the first and the last stage
  SimDuration separate_reduction{};  // of gradients outside the buckets
  std::int32_t ranks = 1;            // entries of by_rank where they differ
  Tier tier = Tier::kMeasured;       // the lowest of all
  double priced_s = 0;               // all that was priced, added up
};

// Passes are in parts as `blocks` has them, which are those of the plan. Complete only where priced_s <=
// kLongestStepS. REQUIRES: check_training_plan(plan); no ZeRO in instances where routing.replicas are given.
[[nodiscard]] StepCosts compute_step_costs(const TrainingPlan& plan, const PipelineSchedule& schedule,
                                           const CostModel& cost, const StepRouting& routing,
                                           const BlockPrices& blocks);

}  // namespace goodput
