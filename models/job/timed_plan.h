// A plan on its machines with its routing, and what its steps take: all of a job but what happens to its
// nodes. Jobs that differ in nothing else share one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "models/checkpoint/checkpoint_modules.h"
#include "models/job/job_step.h"
#include "models/plan/training_plan.h"
#include "models/routing/job_routing.h"
#include "sim/base/errors.h"
#include "sim/base/shared_memo.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// Fixed once made; for any number of threads.
class TimedPlan {
 public:
  // Errors: those of the cost model, and of timing the plan's own step.
  static Result<std::unique_ptr<const TimedPlan>> make(TrainingPlan plan, BatchRule batch,
                                                       JobRouting routing);

  // The same plan with other prices: plan.assumed_error. All ops take price_factor(plan) as long, and so do
  // steps, which need not be timed again. Keeps a reference. REQUIRES: `right` is of the same plan without
  // assumed_error. Errors: those of the cost model.
  static Result<std::unique_ptr<const TimedPlan>> with_error(TrainingPlan plan, BatchRule batch,
                                                             JobRouting routing, const TimedPlan& right);

  TimedPlan(const TimedPlan&) = delete;
  TimedPlan& operator=(const TimedPlan&) = delete;

  [[nodiscard]] const TrainingPlan& plan() const { return plan_; }
  [[nodiscard]] const JobRouting& routing() const { return routing_; }
  [[nodiscard]] const MoeStepModel& steps() const { return steps_; }
  [[nodiscard]] const CheckpointModel& modules() const { return modules_; }
  // Of the plan as it is written.
  [[nodiscard]] const StepTime& own_step() const { return own_step_; }

  // MoeStepModel::dense() and expert_parallel(), of the loads of a window of the routing. Each is computed
  // once, whoever asks.
  [[nodiscard]] Result<StepTime> dense(std::int32_t nodes, const StepSettings& settings) const;
  [[nodiscard]] Result<StepTime> expert_parallel(std::int32_t nodes, const ExpertParallelGroup& group,
                                                 std::size_t window, const StepSettings& settings) const;
  // MoeStepModel::planned(), likewise.
  [[nodiscard]] Result<StepTime> planned(const ParallelPlan& parallel, const StepSettings& settings) const;

  // MoeStepModel::flexible(), likewise, with the loads of a window. `placing` stands for the placements: two
  // callers that give the same have the same. `place` makes them.
  using Placing = std::array<std::int64_t, 6>;
  [[nodiscard]] Result<StepTime> flexible(const Placing& placing,
                                          const std::function<std::vector<ExpertPlacement>()>& place,
                                          const LayerClasses& classes, std::size_t window,
                                          const StepSettings& settings) const;

 private:
  TimedPlan(TrainingPlan plan, BatchRule batch, JobRouting routing, std::unique_ptr<CostModel> cost);

  // Nodes, GPUs of a group (0: dense), window, and what of the settings is not just added.
  using StepKey = std::tuple<std::int32_t, std::int32_t, std::size_t, double, double, ExpertDispatch>;
  // Of experts that a placement has moved: redundant slots of a GPU, and the experts of all slots, layer by
  // layer.
  using MovedKey = std::tuple<StepKey, std::int32_t, std::vector<std::int32_t>>;
  // A parallel plan as text, and the same settings.
  using PlannedKey = std::tuple<std::string, double, double>;
  // The placements, the window, and the same settings.
  using FlexibleKey = std::tuple<Placing, std::size_t, double, double>;
  template <typename Key, typename Compute>
  [[nodiscard]] static Result<StepTime> known(BoundedMemo<Key, Result<StepTime>>& memo, const Key& key,
                                              const StepSettings& settings, const Compute& compute);

  [[nodiscard]] Result<StepTime> in_error(Result<StepTime> time, const StepSettings& settings) const;

  TrainingPlan plan_;
  const TimedPlan* right_ = nullptr;  // null: this one times steps itself
  JobRouting routing_;
  CheckpointModel modules_;
  std::unique_ptr<CostModel> cost_;
  MoeStepModel steps_;
  StepTime own_step_{};
  mutable BoundedMemo<StepKey, Result<StepTime>> known_{10'000};
  mutable BoundedMemo<MovedKey, Result<StepTime>> moved_{256};  // keys take up to 100 KB each
  mutable BoundedMemo<PlannedKey, Result<StepTime>> planned_{10'000};
  mutable BoundedMemo<FlexibleKey, Result<StepTime>> flexible_{10'000};
};

}  // namespace goodput
