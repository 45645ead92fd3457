// What Megatron-Core cannot do, whichever framework starts it.
#pragma once

#include <string_view>

#include "models/plan/training_plan.h"
#include "sim/base/errors.h"

namespace goodput::launch {

// Errors name the key and what to do. `title`: of the framework. REQUIRES: effective(plan).
Status check_megatron_limits(const TrainingPlan& plan, std::string_view title);

}  // namespace goodput::launch
