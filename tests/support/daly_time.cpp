#include "tests/support/daly_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/errors.h"

namespace goodput {

// Daly (2006), for saves that are short against the time between failures; 0 where it would be less.
double daly_first_order_interval_s(const FailureCosts& costs) {
  if (std::isinf(costs.mtbf_s)) return std::numeric_limits<double>::infinity();
  const double cycle = std::sqrt(2 * costs.save_s * (costs.mtbf_s + costs.restart_s));
  return std::max(0.0, cycle - costs.save_s);
}

// Daly (2006): M e^(R/M) (e^((t+d)/M) - 1) for every interval t of the work.
double expected_time_s(const FailureCosts& costs, double interval_s, double work_s) {
  GOODPUT_CHECK(interval_s > 0 && work_s >= 0, "checkpoints without work in between");
  if (work_s == 0) return 0;
  const double intervals = work_s / interval_s;
  if (std::isinf(costs.mtbf_s)) return work_s + intervals * costs.save_s;
  const double cycle = std::expm1((interval_s + costs.save_s) / costs.mtbf_s);
  return costs.mtbf_s * std::exp(costs.restart_s / costs.mtbf_s) * cycle * intervals;
}

double checkpoint_efficiency(const FailureCosts& costs, double interval_s) {
  return interval_s / expected_time_s(costs, interval_s, interval_s);
}

}  // namespace goodput
