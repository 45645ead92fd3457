#include "models/reliability/poisson_counts.h"

#include <boost/math/special_functions/gamma.hpp>

namespace goodput {

EventRate event_rate(double events, double exposure, double per, double clumping) {
  constexpr double kTail = 0.025;
  const double scale = per * clumping / exposure;
  const double independent = events / clumping;
  return {.events = events,
          .value = events * per / exposure,
          .low = events > 0 ? boost::math::gamma_p_inv(independent, kTail) * scale : 0,
          .high = boost::math::gamma_q_inv(independent + 1, kTail) * scale};
}

double chance_of_at_least(std::int64_t count, double expected) {
  if (count <= 0) return 1;
  if (expected <= 0) return 0;
  return boost::math::gamma_p(static_cast<double>(count), expected);
}

}  // namespace goodput
