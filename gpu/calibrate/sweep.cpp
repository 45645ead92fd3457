#include "gpu/calibrate/sweep.h"

#include <algorithm>

#include "gpu/calibrate/stopping_rule.h"

namespace goodput::gpu::calibrate {

double visit_estimate_s(double run_us, double setup_ms) {
  constexpr double kAroundMs = 8;  // two looks at the clock, a graph, memory
  const bench::StoppingRule rule = rule_for(Sizes::kFull);
  const double sample_s = std::max(run_us, bench::kReplayUs) / 1e6;
  // Some samples more than the least: not all points are steady at once.
  const double samples_s =
      std::min(1.2 * rule.least * sample_s, std::max(rule.seconds, (rule.few + 2) * sample_s));
  return samples_s + (kAroundMs + setup_ms) / 1e3;
}

}  // namespace goodput::gpu::calibrate
