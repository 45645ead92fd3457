// What `goodput plan-step` says about a plan: as text for people, as JSON for programs.
#pragma once

#include <string>

#include "models/plan/training_plan.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "sim/base/json_fwd.h"

namespace goodput {

struct PlanStepResult {
  const TrainingPlan& plan;
  const PlannedStep& step;
  const StepReport& report;
  Granularity granularity;
};

// "DP 64 x PP 4 x TP 4, ZeRO-1".
[[nodiscard]] std::string parallel_text(const ParallelPlan& plan);

[[nodiscard]] std::string plan_step_text(const PlanStepResult& result);

// Adds the members of goodput.plan-step/1 (docs/formats/plan-step.md).
void add_plan_step_json(const PlanStepResult& result, OrderedJson& json);

}  // namespace goodput
