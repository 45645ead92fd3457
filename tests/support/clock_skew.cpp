#include "tests/support/clock_skew.h"

#include <utility>

#include "sim/base/float32.h"
#include "sim/base/random.h"

namespace goodput::testing {

OpTrace skewed(OpTrace trace, const ClockError& error) {
  const bool is_float32 = times_are_float32(trace);
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const double start = trace.start_s[row] + error(trace.dp_rank[row], trace.stage[row], trace.step[row]);
    trace.start_s[row] = is_float32 ? round_to_float32(start) : start;
  }
  return trace;
}

OpTrace drifting(OpTrace trace, double origin_s, double step_s,
                 const std::function<double(std::int32_t, std::int16_t)>& drift) {
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const double since = static_cast<double>(trace.step[row]) * step_s + trace.start_s[row];
    const double rate = 1 + drift(trace.dp_rank[row], trace.stage[row]);
    trace.start_s[row] = origin_s + since * rate;
    trace.duration_s[row] *= rate;
  }
  return trace;
}

ClockError random_error(SkewKind kind, double most_s, std::int64_t jump_at, std::uint64_t seed) {
  const auto draw = [most_s, seed](const char* name, std::uint64_t replica, std::uint64_t stage) {
    const double error = RandomStream(seed, name, replica * 1000 + stage).uniform(most_s / 2, most_s);
    return (replica + stage) % 2 == 0 ? error : -error;
  };
  return [=](std::int32_t dp_rank, std::int16_t stage_rank, std::int64_t step) {
    const auto replica = static_cast<std::uint64_t>(dp_rank);
    const auto stage = static_cast<std::uint64_t>(stage_rank);
    switch (kind) {
      case SkewKind::kStage:
        return draw("stage clock", 0, stage);
      case SkewKind::kReplica:
        return draw("replica clock", replica, 0);
      case SkewKind::kHost:
        return draw("host clock", replica, stage / 2);
      case SkewKind::kJump:
        if (step >= jump_at && (replica + 2 * stage) % 3 == 0) return -draw("later clock", replica, stage);
        break;
      case SkewKind::kWorker:
        break;
    }
    return draw("clock", replica, stage);
  };
}

}  // namespace goodput::testing
