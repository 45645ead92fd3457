// Likely causes of a job's slowdown, by the criteria of "Understanding Stragglers in Large Model Training
// Using What-if Analysis" (OSDI'25, section 5). Every criterion reports its value; a job may have several
// causes or none.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/recording.h"
#include "sim/whatif.h"

namespace goodput {

struct RootCause {
  std::string_view name;        // worker-fault, stage-partition, sequence-length, launch-delay
  std::string_view criterion;   // what `value` is
  std::optional<double> value;  // absent where the trace cannot tell
  double threshold = 0;         // likely at or above
  bool likely = false;
  std::string evidence;  // the figures behind it, for people
};

// Below this slowdown there is nothing to explain, and shares of the loss are noise.
inline constexpr double kSlowdownWorthExplaining = 1.01;

[[nodiscard]] std::vector<RootCause> find_root_causes(const Recording& recording, const WhatIf& result,
                                                      double launch_threshold);

// Pearson correlation of forward and backward durations of the same (step, dp, micro-batch, chunk) of one
// stage, each relative to its worker's mean, and how much the forwards vary (standard deviation over mean).
// Absent without micro-batch ids or without variation.
struct PassCorrelation {
  double correlation = 0;
  double variation = 0;
  std::size_t pairs = 0;
};
[[nodiscard]] std::optional<PassCorrelation> correlate_passes(const Recording& recording, std::int32_t stage);

}  // namespace goodput
