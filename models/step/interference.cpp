#include "models/step/interference.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <numbers>

namespace goodput {

double expected_largest(std::int64_t n) {
  if (n == 1) return 0;
  constexpr double kBlom = 0.375;
  const double rank = (static_cast<double>(n) - kBlom) / (static_cast<double>(n) + 1 - 2 * kBlom);
  return std::numbers::sqrt2 * boost::math::erf_inv(2 * rank - 1);
}

double Interference::share_taken(double seconds, double moved) const {
  if (!is_modelled() || !(seconds > 0)) return 0;
  const double of_memory = std::max(sms_share, moved / seconds / memory_bandwidth);
  return std::min(kMostTaken, (1 - kBoundByMemory) * sms_share + kBoundByMemory * of_memory);
}

Interference interference_of(const TrainingPlan& plan) {
  const auto& reached = plan.roofline;
  Interference interference;
  if (reached.speed_spread > 0)
    interference.slowest = 1 + reached.speed_spread * expected_largest(plan.parallel.gpus());
  interference.sms_share =
      std::min(kMostTaken, reached.collective_sms / static_cast<double>(plan.cluster.gpu.multiprocessors));
  interference.memory_bandwidth = plan.cluster.gpu.memory_bandwidth.value * reached.memory_efficiency;
  return interference;
}

}  // namespace goodput
