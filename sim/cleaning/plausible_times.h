// Finds times that no training job has, because they are lost or are not in seconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/op_trace.h"
#include "sim/ops/trace_index.h"

namespace goodput {

inline constexpr double kLongestStepS = 3600;
inline constexpr double kShortestStepS = 1e-5;

struct ImplausibleStep {
  std::int64_t step = 0;
  CleaningRule rule = CleaningRule::kOtherUnits;  // kLostTimes, kClockSets
  std::string problem;
};

// Workers are compared with each other and steps with the median step; a clock that is hours off changes
// neither. Returns the steps whose times cannot be used, ascending. Fails when all steps are wrong in the
// same way: one worker writes another unit than the others, durations have another unit than starts, the
// median step takes more than an hour or less than 10 us, or starts are float32 values too coarse to tell the
// order. REQUIRES: `index` of `trace`.
[[nodiscard]] Result<std::vector<ImplausibleStep>> find_implausible_steps(const OpTrace& trace,
                                                                          const TraceIndex& index);

}  // namespace goodput
