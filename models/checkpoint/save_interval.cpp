#include "models/checkpoint/save_interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/errors.h"

namespace goodput {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

bool has_failures(const FailureCosts& costs) {
  GOODPUT_CHECK(costs.mtbf_s > 0 && costs.save_s >= 0 && costs.restart_s >= 0 &&
                    std::isfinite(costs.save_s) && std::isfinite(costs.restart_s),
                "the MTBF must be positive, and save and restart times finite and not negative");
  return std::isfinite(costs.mtbf_s);
}

double interval_s(IntervalRule rule, const FailureCosts& costs) {
  switch (rule) {
    case IntervalRule::kFixed:
      break;
    case IntervalRule::kYoung:
      return young_interval_s(costs);
    case IntervalRule::kDaly:
      return daly_interval_s(costs);
    case IntervalRule::kOptimal:
      return optimal_interval_s(costs);
  }
  GOODPUT_CHECK(false, "a fixed interval has no formula");
  return 0;
}

}  // namespace

double young_interval_s(const FailureCosts& costs) {
  if (!has_failures(costs)) return kNever;
  return std::sqrt(2 * costs.save_s * costs.mtbf_s);
}

// Daly (2006): the perturbation solution of the exact optimum.
double daly_interval_s(const FailureCosts& costs) {
  if (!has_failures(costs)) return kNever;
  if (costs.save_s >= 2 * costs.mtbf_s) return costs.mtbf_s;
  const double half = costs.save_s / (2 * costs.mtbf_s);
  return std::sqrt(2 * costs.save_s * costs.mtbf_s) * (1 + std::sqrt(half) / 3 + half / 9) - costs.save_s;
}

// The efficiency is highest where its derivative is 0: with x = t/M and s = d/M, ln(1 - x) + x + s = 0. The
// left side falls ever faster, so that Newton's steps from the right of the root come down to it from one
// side. Two bounds from the right: ln(1 - x) + x <= -x^2 / 2 and x <= 1.
double optimal_interval_s(const FailureCosts& costs) {
  if (!has_failures(costs)) return kNever;
  const double save = costs.save_s / costs.mtbf_s;
  double x = std::min(std::sqrt(2 * save), -std::expm1(-1 - save));
  if (x == 0 || x == 1) return x * costs.mtbf_s;
  for (;;) {
    const double next = x + (std::log1p(-x) + x + save) * (1 - x) / x;
    if (!(next < x)) return x * costs.mtbf_s;  // as near as numbers get
    x = next;
  }
}

std::int64_t interval_steps(IntervalRule rule, const FailureCosts& costs, double step_s) {
  GOODPUT_CHECK(step_s > 0, "a step must take time");
  const double steps = interval_s(rule, costs) / step_s;
  if (!has_failures(costs)) return 0;
  if (steps >= static_cast<double>(kMostIntervalSteps)) return kMostIntervalSteps;
  return std::max<std::int64_t>(1, std::llround(steps));
}

}  // namespace goodput
