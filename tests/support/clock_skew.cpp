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
  const auto draw = [most_s, seed](const char* name, std::uint64_t clock) {
    return RandomStream(seed, name, clock).uniform(-most_s, most_s);
  };
  return [=](std::int32_t dp_rank, std::int16_t stage, std::int64_t step) {
    const auto dp = static_cast<std::uint64_t>(dp_rank);
    const auto at = static_cast<std::uint64_t>(stage);
    const std::uint64_t worker = dp * 1000 + at;
    switch (kind) {
      case SkewKind::kStage:
        return draw("stage clock", at);
      case SkewKind::kReplica:
        return draw("replica clock", dp);
      case SkewKind::kHost:
        return draw("host clock", dp * 1000 + at / 2);
      case SkewKind::kJump:
        return draw(step >= jump_at && worker % 3 == 0 ? "later clock" : "clock", worker);
      case SkewKind::kWorker:
        break;
    }
    return draw("clock", worker);
  };
}

}  // namespace goodput::testing
