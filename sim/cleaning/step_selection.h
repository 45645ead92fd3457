// Steps that a user asks for, against those that there are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/number_ranges.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/op_trace.h"

namespace goodput {

// Whether a step is asked for; no ranges ask for all.
[[nodiscard]] bool is_asked_for(std::int64_t step, std::span<const NumberRange> ranges);

// Fails when a step named singly is not among the recorded ones, those with nothing but damaged rows
// included, and when none of them is asked for.
Status check_asked_for(const OpTrace& trace, const std::vector<CleaningFinding>& findings,
                       std::span<const NumberRange> ranges);
// The same for steps that ascend. REQUIRES: steps.
Status check_asked_for(std::span<const std::int64_t> recorded, std::span<const NumberRange> ranges);

}  // namespace goodput
