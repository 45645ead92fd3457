// What a step of a plan asks for and a calibration does not answer from the tables of that very op.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/cost/calibration.h"
#include "models/plan/training_plan.h"
#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "sim/base/units.h"
#include "tools/calibration/asked_work.h"

namespace goodput {

struct PlanGap {
  AskedWork work{};
  AskedSizes sizes{};
  double share = 0;  // by how much of itself the step would be shorter, were this work free
};

struct PlanGaps {
  SimDuration step{};           // as this calibration prices it
  std::vector<PlanGap> gaps{};  // the largest share first
  double share = 0;             // of all of them together
};

// The step is priced by `calibration`, whatever cost model the plan names, once as it is and once without
// each piece of work, on `jobs` threads. Fails where the calibration is of another GPU, and where the step
// cannot be built.
Result<PlanGaps> find_plan_gaps(const TrainingPlan& plan, const Calibration& calibration, std::uint64_t seed,
                                unsigned jobs);

[[nodiscard]] std::string plan_gaps_text(const PlanGaps& gaps, const std::string& plan);

// docs/formats/calibration-results.md, the key `plan` of "goodput.calibration_info/1".
[[nodiscard]] OrderedJson plan_gaps_json(const PlanGaps& gaps, const std::string& plan);

}  // namespace goodput
