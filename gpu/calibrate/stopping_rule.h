// How long a point is sampled. Unlike those of the benchmark, of which few are measured, hundreds of points
// share minutes: a quarter of a second is enough for one visit, and where single runs are long five of them.
#pragma once

#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

[[nodiscard]] inline bench::StoppingRule rule_for(Sizes sizes) {
  bench::StoppingRule rule;
  rule.seconds = 0.25;
  rule.few = 5;
  if (sizes == Sizes::kQuick) {
    rule.warm_up_ms = 0;
    rule.batch_ms = 0;
    rule.least = rule.most = rule.few = 3;
  }
  return rule;
}

}  // namespace goodput::gpu::calibrate
