// Puts wrong clocks into a trace.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/ops/op_trace.h"

namespace goodput::testing {

// What a worker's clock shows too much in a step, seconds.
using ClockError = std::function<double(std::int32_t dp_rank, std::int16_t stage, std::int64_t step)>;

// Starts become what such clocks would show: in float32 where the trace is, as a profiler would write them.
[[nodiscard]] OpTrace skewed(OpTrace trace, const ClockError& error);

// The same steps on absolute times: step t (number) starts at t * step_s from `origin_s`, and the clock of a
// worker runs `drift` (of its dp rank and stage) too fast.
[[nodiscard]] OpTrace drifting(OpTrace trace, double origin_s, double step_s,
                               const std::function<double(std::int32_t, std::int16_t)>& drift);

// Who shares a wrong clock, and whether it jumps.
enum class SkewKind { kStage, kWorker, kReplica, kHost, kJump };
inline constexpr SkewKind kSkewKinds[] = {SkewKind::kStage, SkewKind::kWorker, SkewKind::kReplica,
                                          SkewKind::kHost, SkewKind::kJump};

// Errors between half of `most_s` and all of it, drawn from the seed, of neighbours in opposite directions;
// kHost: pairs of stages of a replica share one; kJump: every third worker has another one from step
// `jump_at` on.
[[nodiscard]] ClockError random_error(SkewKind kind, double most_s, std::int64_t jump_at, std::uint64_t seed);

}  // namespace goodput::testing
