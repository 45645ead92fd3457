// A plan and what a trace of it is made with (`goodput synth`): two more keys of a plan's file. Everyone else
// reads a TrainingPlan, which checks these keys and keeps nothing of them.
#pragma once

#include <string>

#include "models/plan/stragglers.h"
#include "models/plan/training_plan.h"
#include "sim/base/errors.h"
#include "sim/config/config.h"

namespace goodput {

struct SynthPlan {
  TrainingPlan plan;
  SynthSettings synth;
};

// As read_training_plan().
Result<SynthPlan> read_synth_plan(const std::string& path, const config::Library& library = {});

[[nodiscard]] config::Fields config_fields(SynthPlan& plan);
[[nodiscard]] Status config_finish(SynthPlan& plan);

}  // namespace goodput
