// Expert routing of a job that never ran: popularity of experts that drifts, with the statistics of a
// recorded one.
//
// Of layer l, expert e has at iteration t the logit  spread(t) * f_l * y(t) + noise * x(t)  with
//   y   a stationary mean-reverting walk (Ornstein-Uhlenbeck) of variance 1: between t and t' its correlation
//   is
//       exp(-the sum of drift(i) over t <= i < t'), so that it does not matter which iterations are recorded;
//   x   white: what differs from one batch to the next;
//   f_l exp(layer_spread * normal), the same for all iterations: some layers are more skewed than others.
// Of the tokens a share sigmoid(logit + c) goes to the expert, c such that each goes to top_k of them: no
// expert gets a token twice, so the busiest one gets at most experts / top_k times the mean. Without that
// bound popularity would be lognormal, which fits recorded layers better than Zipf's law (a straight line in
// log rank): tails bend down.
//
// Layers are independent; the hosts of the tokens are not modelled. Calibrated against one job
// (configs/routing); experts and layers other than its own are an extrapolation.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/errors.h"
#include "sim/config/config.h"
#include "sim/routing/routing_trace.h"

namespace goodput {

inline constexpr config::Kind kRoutingModelFiles{"routing", "routing model"};

// From here on. Between two points the logarithm of `spread` is linear in that of the iteration; `drift`
// holds up to the next point. The first point holds before, the last one behind.
struct RoutingCoursePoint {
  std::int64_t iteration = 1;
  double spread = 1;  // deviation of the logits
  double drift = 0;   // of the walk, an iteration
};
[[nodiscard]] config::Fields config_fields(RoutingCoursePoint& point);

struct RoutingModel {
  std::int32_t layers = 1;
  std::int32_t experts = 0;  // of a layer
  std::int32_t top_k = 1;
  std::int64_t tokens = 0;           // of an iteration; each counts top_k times
  std::int64_t first_iteration = 1;  // that is recorded
  std::int64_t interval = 1;         // from one recorded iteration to the next
  std::int64_t iterations = 1;       // recorded
  double layer_spread = 0;
  double noise = 0;
  std::vector<RoutingCoursePoint> course;
};
[[nodiscard]] config::Fields config_fields(RoutingModel& model);
[[nodiscard]] Status config_finish(RoutingModel& model);

// Rounded to whole tokens by largest remainder. Fewer iterations or layers are the beginning of more.
// REQUIRES: `model` passes config_finish().
[[nodiscard]] RoutingTrace synthesize_routing(const RoutingModel& model, std::uint64_t seed);

// sigmoid(logit + c) / top_k, adding up to 1. REQUIRES: 1 <= top_k < logits.size(), finite logits.
[[nodiscard]] std::vector<double> top_k_shares(const std::vector<double>& logits, std::int32_t top_k);

}  // namespace goodput
