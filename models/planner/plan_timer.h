// What the steps of many plans take, as build_planned_step() has it, and what they take at least.
//
// Plans share what they have in common: layer prices depend on tp, cp, ep, micro_batch, recompute, the number
// of GPUs, whether there are several micro-batches, and whether fp8 weights are cast in each pass. The order
// of passes depends on schedule, pp, vpp and the number of micro-batches. All methods may be called by any
// number of threads at once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/planner/step_bound.h"
#include "models/schedule/schedule.h"
#include "models/step/alive_peaks.h"
#include "models/step/block_prices.h"
#include "sim/base/shared_memo.h"
#include "sim/base/tier.h"
#include "sim/base/units.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// What plans share whose stages run the same passes in the same order.
struct PipelineProfile {
  std::vector<AlivePeaks> peaks;  // by stage
  StepBound bound;
};

// Of plans whose steps have the same ops: schedule, pp, vpp, micro-batches, and what a step has besides
// passes.
using FrameKey = std::array<std::int64_t, 5>;

struct StepEstimate {
  double at_least_ns = 0;  // the step; 0: cannot be said
  Tier tier = Tier::kModel;
  bool can_be_timed = true;  // false: its ops add up to more than kLongestStepS
};

class PlanTimer {
 public:
  // Keeps references. All plans are as `base` but for the sizes of `parallel`, recompute, zero, schedule and
  // layers_per_stage. `seed` draws which experts are popular.
  PlanTimer(const TrainingPlan& base, const CostModel& cost, std::uint64_t seed)
      : base_(base), cost_(cost), seed_(seed) {}

  // REQUIRES for all: check_training_plan().
  [[nodiscard]] const PipelineProfile& profile(const TrainingPlan& plan);
  [[nodiscard]] StepEstimate estimate(const TrainingPlan& plan);

  [[nodiscard]] FrameKey frame_of(const TrainingPlan& plan) const;
  // The steps of plans with the same frame_of(). None: of a plan that cannot be timed.
  [[nodiscard]] std::vector<std::optional<SimDuration>> step_times(std::span<const ParallelPlan> plans);

 private:
  [[nodiscard]] const BlockPrices& blocks(const TrainingPlan& plan);
  [[nodiscard]] StepCosts costs_of(const TrainingPlan& plan, const PipelineSchedule& schedule);
  [[nodiscard]] std::optional<SimDuration> time_alone(const TrainingPlan& plan) const;

  const TrainingPlan& base_;
  const CostModel& cost_;
  std::uint64_t seed_;
  SharedMemo<4, PipelineProfile> profiles_;
  SharedMemo<10, BlockPrices> blocks_;
};

}  // namespace goodput
