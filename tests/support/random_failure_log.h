// Failure logs with a known truth, as CSV.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/reliability/repair_laws.h"

namespace goodput::testing {

struct RandomFailureLog {
  std::int32_t nodes = 500;
  double days = 120;
  double per_1000_node_days = 5;  // of a node that is not bad and up
  RepairLaw law = RepairLaw::kExponential;
  double repair_mean_s = 8 * 3600;
  double repair_shape = 1;  // of Weibull the shape, of lognormal the deviation of the logarithm
  int bursts = 0;           // each of `burst_nodes` nodes within 20 s
  int burst_nodes = 8;
  int bad_nodes = 0;        // the first ones
  double bad_ratio = 5;     // their rate over that of others
  double missing_ends = 0;  // share of rows
  double repeated = 0;      // share of faults with a second row that overlaps the first
  bool is_sorted = true;
};

struct DrawnFailureLog {
  std::string csv{};
  std::int64_t independent_faults = 0;
  double per_1000_node_days = 0;  // expected, of all nodes, without bursts
};

[[nodiscard]] DrawnFailureLog draw_failure_log(const RandomFailureLog& log, std::uint64_t seed);

// "n001"
[[nodiscard]] std::string node_name(int node);

}  // namespace goodput::testing
