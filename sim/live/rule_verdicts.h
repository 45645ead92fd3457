// Verdicts on what a rule notices without a cause: slowness that no cause explains, silence, missing rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "sim/analysis/verdict.h"
#include "sim/live/slowdown_trend.h"
#include "sim/live/step_result.h"

namespace goodput {

// How often something was there in the latest steps.
struct SeenSteps {
  std::size_t count = 0;
  std::size_t of = 0;
};
// "5 steps", "3 of the last 10 steps"
[[nodiscard]] std::string to_text(SeenSteps seen);

// `slowdown`, `lost_s`: S and the lost time per step, means over these steps.
[[nodiscard]] Verdict straggling_verdict(double slowdown, double lost_s, SeenSteps seen);
[[nodiscard]] Verdict worst_worker_verdict(const WorkerPlace& place, SeenSteps seen);
[[nodiscard]] Verdict silence_verdict(double silent_s, std::int64_t last_step);
// `missing`: workers without rows, one list per incomplete step. The subject is what those that are missing
// in at least half of these steps share: a worker, a host, a replica, or the job. `missing_now`: in the
// latest.
[[nodiscard]] Verdict incomplete_verdict(const std::deque<std::vector<WorkerPlace>>& missing, SeenSteps seen,
                                         std::size_t missing_now);
[[nodiscard]] Verdict worsening_verdict(const SlowdownTrend& trend, const std::vector<std::int64_t>& steps);

[[nodiscard]] Verdict::Worker verdict_worker(const WorkerPlace& place);

}  // namespace goodput
