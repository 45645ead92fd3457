// Where the numbers of a planned step come from.
#pragma once

#include <string>
#include <vector>

#include "models/plan/synth_plan.h"
#include "models/plan/training_plan.h"
#include "models/step/planned_step.h"
#include "sim/base/errors.h"
#include "sim/base/tier.h"
#include "tools/cli/json_result.h"

namespace goodput {

// Hashes everything that moves a number but the seed, wherever the files lie: the plan with all it names, the
// granularity, the bytes of the calibration file where one prices the ops.
Result<Provenance> plan_provenance(const TrainingPlan& plan, Granularity granularity, Tier lowest_tier);
Result<Provenance> plan_provenance(const SynthPlan& plan, Granularity granularity, Tier lowest_tier);

// All files that a plan rests on: its own, those it names, and last, where one prices the ops, the
// calibration.
Result<std::vector<config::Source>> plan_sources(const TrainingPlan& plan);

}  // namespace goodput
