// What a spot trace holds, in numbers: for `goodput trace info`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/units.h"
#include "sim/nodes/spot_trace.h"

namespace goodput {

// Times at which nodes were taken away. Of counts that is where they fall.
struct RemovalBatches {
  std::int64_t count = 0;
  std::int64_t of_several = 0;  // that took more than one node
  std::int32_t largest = 0;     // nodes
};

// USD a node and hour. The mean is over time, from the first price on.
struct PriceSummary {
  double min = 0;
  double mean = 0;
  double max = 0;
};

// Of nodes of a cluster that fail and are repaired.
struct FaultSummary {
  std::int64_t faults = 0;
  double up_node_days = 0;
  double mtbf_days = 0;                           // of a node: time that nodes are up, over faults
  std::int64_t repairs = 0;                       // that the recording shows
  double median_repair_s = 0, mean_repair_s = 0;  // 0: there is no repair
};

// What is known is what no hole covers.
struct SpotSummary {
  SimDuration duration{};
  SimDuration known{};  // of it
  // Of counts the sum of all rises, the first count included, and of all falls.
  std::int64_t adds = 0;
  std::int64_t removes = 0;
  std::int32_t initial_nodes = 0;
  std::int32_t final_nodes = 0;
  std::int32_t peak_nodes = 0;
  double node_hours = 0;               // while known
  std::optional<double> mean_nodes{};  // over time, while known; none: no time is
  RemovalBatches removal_batches{};
  std::int64_t drops = 0;                             // times at which the count falls
  std::map<std::int32_t, std::int64_t> drop_sizes{};  // how many drops by so many nodes
  SimDuration longest_outage{};                       // without a single node, while known
  SimTime longest_outage_begin{};
  std::optional<PriceSummary> price{};
  std::optional<FaultSummary> faults{};  // of named nodes that fail, at least once
};

[[nodiscard]] SpotSummary summarize(const SpotTrace& trace);

[[nodiscard]] std::uint64_t hash_trace(const SpotTrace& trace);

// A table for people.
[[nodiscard]] std::string describe(const SpotTrace& trace, const SpotSummary& summary);

}  // namespace goodput
