#include "models/failure/node_renewals.h"

#include <algorithm>

#include "models/failure/failure_fields.h"

namespace goodput {

using config::Need;

config::Fields config_fields(NodeLives& lives) {
  static constexpr std::array<std::string_view, 2> kRepairNames = {"fixed", "exponential"};
  const config::Range mtbf = {.least = 0, .most = 1e9, .is_least_excluded = true};
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
       [&lives] { return lives.repair_time == SimDuration{} ? "repair_s is 0" : ""; }}};
}

Status config_finish(NodeLives& lives) {
  if (lives.mtbf_hours && lives.failures_per_1000_node_days) {
    return Error{"is given, but mtbf_hours also sets the failure rate; give only one of the two keys",
                 {.pointer = "/failures_per_1000_node_days"}};
  }
  if (!lives.mtbf_hours && !lives.failures_per_1000_node_days) {
    return Error{"is missing; give mtbf_hours or failures_per_1000_node_days", {.pointer = "/mtbf_hours"}};
  }
  return Ok{};
}

double mtbf_seconds(const NodeLives& lives) {
  constexpr double kNodeSeconds = 1000.0 * 24 * 3600;  // in 1000 node-days
  GOODPUT_CHECK(lives.mtbf_hours || lives.failures_per_1000_node_days,
                "mtbf_hours or failures_per_1000_node_days must be set");
  return lives.mtbf_hours ? *lives.mtbf_hours * 3600 : kNodeSeconds / *lives.failures_per_1000_node_days;
}

InterruptionRate renewal_rate(const NodeLives& lives) {
  return [nodes = lives.nodes, mtbf_s = mtbf_seconds(lives)](NodeId used) {
    return std::min(used, nodes) / mtbf_s;
  };
}

}  // namespace goodput
