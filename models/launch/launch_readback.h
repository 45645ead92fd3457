// Reads a launch file that an export has written.
#pragma once

#include "models/launch/launch_format.h"
#include "models/plan/training_plan.h"
#include "sim/base/errors.h"

namespace goodput::launch {

// `plan` with the model, the layout and the stack that the text has, as import_launch() reads them. Stacks
// and named models come from plan.library.
Result<TrainingPlan> read_back(const LaunchText& launch, const TrainingPlan& plan);

}  // namespace goodput::launch
