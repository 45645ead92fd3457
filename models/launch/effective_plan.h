// Plans that mean the same, in one form.
#pragma once

#include "models/plan/training_plan.h"

namespace goodput::launch {

// The plan with within_node applied, defaults written out, and keys that have no effect at their defaults:
// sequence_parallel without tensor parallelism, an even layers_per_stage, the FFN size of a model whose
// layers all have experts.
[[nodiscard]] TrainingPlan effective(TrainingPlan plan);

}  // namespace goodput::launch
