// Why a search has no plan to offer, and on how many GPUs it would have one.
#pragma once

#include <cstdint>
#include <string>

#include "models/plan/training_plan.h"
#include "models/planner/plan_search.h"
#include "models/planner/plan_space.h"

namespace goodput {

// "no parallel plan uses exactly 1000 GPUs: ...; the nearest numbers that work, in whole nodes: 992 or 1024
// GPUs". Of the nearest the rules of plans are checked, not whether they fit into memory. REQUIRES: `search`,
// of the same base, GPUs and space, found no plan, and none that lacks only memory.
[[nodiscard]] std::string no_plan_text(const TrainingPlan& base, std::int64_t gpus, const PlanSpace& space,
                                       const PlanSearch& search);

}  // namespace goodput
