// How the ops of a step wait for each other, pass by pass, without what they take: one graph for all plans of
// a pipeline shape, which times many of them at once. The steps are those of build_planned_step(), to the
// nanosecond.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/megatron/schedule_order.h"
#include "models/plan/training_plan.h"
#include "models/schedule/schedule.h"
#include "models/step/step_layout.h"
#include "sim/base/errors.h"
#include "sim/base/units.h"
#include "sim/ops/op_graph.h"

namespace goodput {

// Which ops a step of the plan has besides its passes.
[[nodiscard]] megatron::StepFeatures step_features(const TrainingPlan& plan,
                                                   const PipelineSchedule& schedule);

class StepFrame {
 public:
  // `layout`: of the same schedule and shape. REQUIRES: schedule.check(shape).
  static Result<StepFrame> build(const PipelineSchedule& schedule, const ScheduleShape& shape,
                                 const megatron::StepFeatures& features, const StepLayout& layout);

  // Of plans whose costs are `values`: those of the layout.
  [[nodiscard]] std::vector<SimDuration> step_times(std::span<const std::vector<double>> values) const;

  // When the last pass of one of them ends, from the start of the step on.
  [[nodiscard]] SimDuration end_of_passes(const std::vector<double>& values) const;

  // All ops one after the other, in nanoseconds.
  [[nodiscard]] double total(std::span<const double> values) const;

 private:
  explicit StepFrame(OpGraph graph) : graph_(std::move(graph)) {}
  [[nodiscard]] std::vector<SimDuration> latest_ends(std::span<const std::vector<double>> values,
                                                     std::span<const OpId> of) const;

  OpGraph graph_;
  std::vector<std::uint32_t> entry_of_;  // by OpId
  std::vector<OpId> last_;               // that nothing waits for
  std::vector<OpId> passes_;
  std::vector<std::int64_t> count_;  // ops, by entry
};

}  // namespace goodput
