// Whether the times of a trace can be what they are said to be: seconds, finer than the ops.
#pragma once

#include "sim/base/errors.h"
#include "sim/ops/op_trace.h"
#include "sim/ops/trace_index.h"

namespace goodput {

// A median step within these is plausible.
inline constexpr double kShortestStepS = 10e-6;
inline constexpr double kLongestStepS = 3600;

// Fails on a median step that is out of range (times in another unit) and on starts so far from their origin
// that float32 does not tell ops apart (seconds since 1970 in a float32 column). The option is "time-unit".
Status check_time_scale(const OpTrace& trace, const TraceIndex& index);

}  // namespace goodput
