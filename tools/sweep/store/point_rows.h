// What became of a point of a sweep: rows of numbers, a policy and trial each, and what they tell together.
//
// Numbers are finite.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/scenario/estimate.h"

namespace goodput {

struct TrialRow {
  bool finished = false;
  std::string stopped{};  // why it ended before its goal and its time; empty: it did not
  std::vector<std::optional<double>> values{};  // by PolicyRows::columns
};

// A figure of all trials: a mean, or a ratio of means.
struct MetricEstimate {
  std::string metric{};
  Estimate estimate{};
};

struct PolicyRows {
  std::string name{};     // as the scenario calls it
  std::string refused{};  // why it cannot run this job; empty: it can, and there are trials
  std::string tier{};     // the lowest that its numbers rest on; empty where it is refused
  std::vector<std::string> warnings{};
  std::vector<std::string> columns{};  // as those of --trials-csv, no name twice
  std::vector<TrialRow> trials{};
  std::vector<MetricEstimate> estimates{};  // of what has one, no metric twice
};

struct PointRows {
  std::uint64_t point = 0;    // number in the design, from 0
  std::string config_hash{};  // of the scenario as it ran; empty where it cannot be read
  std::string error{};        // why the point cannot be; empty: it ran
  std::vector<PolicyRows> policies{};
};

}  // namespace goodput
