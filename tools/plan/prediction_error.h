// Which layouts cannot be told from the best one, because predicted step times are not exact.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/planner/plan_search.h"
#include "models/stack/step_range.h"
#include "sim/base/units.h"

namespace goodput {

// The time of a step, and between which times 80 % of measured steps of its family lie.
struct RangedStep {
  double seconds = 0;
  double low_s = 0;
  double high_s = 0;
  StepRange range{};
};

// `plan`: whose stack and machines are meant.
[[nodiscard]] RangedStep ranged_step(const TrainingPlan& plan, const RankedPlan& ranked);

// The one of `found` that is `parallel`.
[[nodiscard]] std::optional<RankedPlan> layout_found(const ParallelPlan& parallel,
                                                     std::span<const RankedPlan> found);

// Of the layouts found, fastest first: those whose range overlaps that of `best`. Layouts that differ only in
// micro-batches, chunks, schedule or recomputation count as one. Empty if `best` is not among `found`.
[[nodiscard]] std::vector<RankedPlan> layouts_within_error(const TrainingPlan& plan, const ParallelPlan& best,
                                                           std::span<const RankedPlan> found);

}  // namespace goodput
