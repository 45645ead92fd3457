// Steps of plans that are shipped, with experts where a rule places them.
#pragma once

#include <string>
#include <vector>

#include "models/job/job_step.h"
#include "models/placement_search/place_experts.h"
#include "models/plan/training_plan.h"
#include "tests/support/placement_case.h"

namespace goodput::testing {

// Of configs/plans/, by the name of its file.
[[nodiscard]] TrainingPlan shipped_plan(const std::string& name);

// By layer: replicas by Eq. 1 of the Lazarus paper, placed by its MRO.
[[nodiscard]] std::vector<ExpertPlacement> placed(const LayerLoads& loads, const ExpertNodes& nodes);

// REQUIRES: no error; one fails the test.
[[nodiscard]] StepTime timed(const Result<StepTime>& time);

}  // namespace goodput::testing
