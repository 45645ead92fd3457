// Daly's model of a job that saves checkpoints and fails (models/checkpoint/save_interval.h), in full: what
// the intervals are chosen for, as a reference for jobs that are simulated.
#pragma once

#include "models/checkpoint/save_interval.h"

namespace goodput {

// Seconds of training between checkpoints: sqrt(2d(M+R)) - d, or 0.
[[nodiscard]] double daly_first_order_interval_s(const FailureCosts& costs);

// Wall-clock seconds that `work_s` of training take on average, saved every `interval_s`; infinite where that
// is beyond all numbers. REQUIRES: interval_s > 0.
[[nodiscard]] double expected_time_s(const FailureCosts& costs, double interval_s, double work_s);
// Training over wall-clock time, on average: 0 to 1.
[[nodiscard]] double checkpoint_efficiency(const FailureCosts& costs, double interval_s);

}  // namespace goodput
