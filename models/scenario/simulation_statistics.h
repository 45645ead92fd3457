// From single runs to means, ratios and confidence intervals.
#pragma once

#include <span>

#include "models/scenario/simulation.h"
#include "models/scenario/trial_summary.h"

namespace goodput {

// All but names, warnings and the tier. `has_goal`: they can finish. REQUIRES: trials, all of one policy.
[[nodiscard]] PolicyOutcome outcome_of(std::span<const TrialSummary> trials, bool has_goal);

// All but the name. REQUIRES: as many trials of both.
[[nodiscard]] PolicyRatio ratio_of(std::span<const TrialSummary> a, std::span<const TrialSummary> b);

}  // namespace goodput
