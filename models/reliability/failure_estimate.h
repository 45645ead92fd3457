// How often nodes fail, how long repairs take, which nodes are bad: estimates from the history of a cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/reliability/fault_bursts.h"
#include "models/reliability/poisson_counts.h"
#include "models/reliability/repair_laws.h"
#include "sim/base/units.h"
#include "sim/nodes/fault_history.h"

namespace goodput {

// Failures per this many node-days, as in the field's papers.
inline constexpr double kNodeDaysOfRate = 1000;
inline constexpr double kSecondsPerDay = 86400;

struct RepairEstimate {
  std::int64_t complete = 0, open = 0, unknown = 0;  // number of repairs
  std::optional<double> median_s{};                  // Kaplan-Meier; none: no repair is complete
  std::optional<double> mean_s{};                    // likewise
  bool is_coarse = false;                            // the times of the log do not tell repairs apart
  std::vector<RepairFit> fits{};  // best first; empty: no repair is complete, or times are too coarse
};

struct BurstEstimate {
  FaultBursts found{};
  double per_1000_node_days = 0;
  double mean_nodes = 0;
  std::optional<double> outage_s{};  // median down time of their nodes
};

struct BadNode {
  NodeId node = 0;
  std::int64_t faults = 0;
  double per_1000_node_days = 0;
  double ratio = 0;  // to the rate of the other nodes
};

struct CauseCount {
  std::int32_t cause = -1;  // index into FaultHistory::causes; -1: none is stated
  std::int64_t faults = 0;
  std::optional<double> median_repair_s{};
};

struct FailureEstimate {
  double node_days = 0;      // that nodes were up
  std::int64_t faults = 0;   // that began inside the observation
  EventRate all{};           // per 1000 node-days; bursts widen the interval
  EventRate independent{};   // without faults in bursts
  EventRate others{};        // also without those of bad nodes
  RepairEstimate repairs{};  // without faults in bursts
  BurstEstimate bursts{};
  std::vector<BadNode> bad_nodes{};  // by number of faults, most first
  std::vector<CauseCount> causes{};  // likewise
};

struct EstimateOptions {
  std::optional<SimDuration> burst_window{};
};

// REQUIRES: history.up_time > 0. Without repairs in the history there are none in the estimate, and no
// bursts.
[[nodiscard]] FailureEstimate estimate_failures(const FaultHistory& history, const EstimateOptions& options);

// How surely the best law is the best: "clearly" (10 or more between its BIC and the next), "probably" (2 or
// more), "hardly". Empty: there is only one law. After Kass and Raftery (1995).
[[nodiscard]] std::string_view how_clear(const std::vector<RepairFit>& fits);

}  // namespace goodput
