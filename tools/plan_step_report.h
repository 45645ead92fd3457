// What `goodput plan-step` says about a plan: as text for people, as JSON for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "models/planned_step.h"
#include "models/step_report.h"
#include "models/training_plan.h"

namespace goodput {

struct PlanStepResult {
  const TrainingPlan& plan;
  const PlannedStep& step;
  const StepReport& report;
  Granularity granularity;
};

[[nodiscard]] std::string plan_step_text(const PlanStepResult& result);

// Adds the members of goodput.plan-step/1 (docs/formats.md).
void add_plan_step_json(const PlanStepResult& result, nlohmann::ordered_json& json);

// Of everything that moves a number but the seed, wherever the files lie. `calibration`: the bytes of the
// calibration file, empty where none is used.
[[nodiscard]] std::uint64_t config_hash(const TrainingPlan& plan, Granularity granularity = Granularity::kOps,
                                        std::string_view calibration = {});

}  // namespace goodput
