// From single runs to means and confidence intervals.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/scenario/simulation.h"

namespace goodput {

// What is kept of a run.
struct TrialSummary {
  bool finished = false;
  std::string stopped{};
  double steps = 0, samples = 0, wall_s = 0, goodput = 0, ettr = 0, cost_usd = 0;
  double nodes_lost = 0, steps_lost = 0;
  std::array<double, kCauses> courses{};
  std::array<double, kTimeBucketCount> time_s{};
  std::array<double, kTimeBucketCount> node_time_s{};
  std::vector<PolicyMetric> metrics{};
};
[[nodiscard]] TrialSummary summarize(const JobResult& result);

// All but names, warnings and the tier. REQUIRES: trials, all of one policy.
[[nodiscard]] PolicyOutcome outcome_of(std::span<const TrialSummary> trials);

// All but the name. REQUIRES: as many trials of both.
[[nodiscard]] PolicyRatio ratio_of(std::span<const TrialSummary> a, std::span<const TrialSummary> b);

}  // namespace goodput
