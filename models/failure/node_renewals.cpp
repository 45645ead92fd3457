#include "models/failure/node_renewals.h"

#include <algorithm>

#include "models/failure/failure_fields.h"

namespace goodput {

using config::Need;

config::Fields config_fields(NodeLives& lives) {
  static constexpr std::array<std::string_view, 4> kRepairNames = {"fixed", "exponential", "weibull",
                                                                   "lognormal"};
  const config::Range mtbf = {.least = 0, .most = 1e9, .is_least_excluded = true};
  const auto no_repairs = [&lives] { return lives.repair_time == SimDuration{} ? "repair_s is 0" : ""; };
  return {
      {"nodes", Need::kOptional, config::integer(lives.nodes, 0, kMostNodes),
       "number of nodes, all available at the start; 0: as many as the job uses"},
      {"mtbf_hours", Need::kOptional, optional_number(lives.mtbf_hours, mtbf),
       "mean time from a node's start or repair to its next failure"},
      {"failures_per_1000_node_days", Need::kOptional,
       optional_number(lives.failures_per_1000_node_days, mtbf),
       "failure rate that replaces mtbf_hours; give exactly one of the two keys"},
      {"repair_s", Need::kOptional, seconds_value(lives.repair_time, config::between(0, kMostFailureSeconds)),
       "mean time to repair a failed node, which returns as good as new"},
      {"repair", Need::kOptional, config::choice(lives.repair, kRepairNames), "distribution of repair times",
       no_repairs},
      {"repair_shape", Need::kOptional, optional_number(lives.repair_shape, config::between(0.05, 20)),
       "with repair \"weibull\" the shape of the distribution; with \"lognormal\" the standard deviation of "
       "the "
       "natural logarithm of the repair time",
       [&lives, no_repairs] {
         return lives.has_shape() ? no_repairs() : "repair is neither \"weibull\" nor \"lognormal\"";
       }},
      {"bursts", Need::kOptional, config::object(lives.bursts),
       "failures that take down several of these nodes at once, besides those of single nodes"}};
}

Status config_finish(NodeLives& lives) {
  if (lives.mtbf_hours && lives.failures_per_1000_node_days) {
    return Error{"is given, but mtbf_hours also sets the failure rate; give only one of the two keys",
                 {.pointer = "/failures_per_1000_node_days"}};
  }
  if (!lives.mtbf_hours && !lives.failures_per_1000_node_days) {
    return Error{"is missing; give mtbf_hours or failures_per_1000_node_days", {.pointer = "/mtbf_hours"}};
  }
  if (lives.has_shape() && !lives.repair_shape) {
    return Error{"is missing; the distribution of repair times needs a shape", {.pointer = "/repair_shape"}};
  }
  return Ok{};
}

double mtbf_seconds(const NodeLives& lives) {
  constexpr double kNodeSeconds = 1000.0 * 24 * 3600;  // in 1000 node-days
  GOODPUT_CHECK(lives.mtbf_hours || lives.failures_per_1000_node_days,
                "mtbf_hours or failures_per_1000_node_days must be set");
  return lives.mtbf_hours ? *lives.mtbf_hours * 3600 : kNodeSeconds / *lives.failures_per_1000_node_days;
}

// With mean 1: Weibull is E^(1/shape) / Gamma(1 + 1/shape) with E ~ Exp(1), lognormal exp(d z - d^2 / 2).
double draw_repair(const NodeLives& lives, RandomStream& random) {
  const double mean_s = to_seconds(lives.repair_time);
  const double shape = lives.repair_shape.value_or(1);
  switch (lives.repair) {
    case NodeLives::Repair::kFixed:
      return mean_s;
    case NodeLives::Repair::kExponential:
      return random.exponential(1 / mean_s);
    case NodeLives::Repair::kWeibull:
      return mean_s * std::pow(random.exponential(1), 1 / shape) / std::tgamma(1 + 1 / shape);
    case NodeLives::Repair::kLognormal:
      return mean_s * std::exp(random.normal(0, shape) - shape * shape / 2);
  }
  GOODPUT_CHECK(false, "unknown distribution of repair times");
}

InterruptionRate renewal_rate(const NodeLives& lives) {
  const InterruptionRate bursts =
      lives.bursts ? burst_rate(*lives.bursts, lives.nodes) : [](NodeId /*used*/) { return 0.0; };
  return [nodes = lives.nodes, mtbf_s = mtbf_seconds(lives), bursts](NodeId used) {
    return std::min(used, nodes) / mtbf_s + bursts(used);
  };
}

}  // namespace goodput
