// Likely causes of a job's slowdown, by the criteria of "Understanding Stragglers in Large Model Training
// Using What-if Analysis" (OSDI'25, section 5) and what was added to tell them apart (docs/design.md, "Likely
// causes"). Every criterion reports its value; a job may have several causes or none.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/ops/op_graph.h"
#include "sim/recording/recording.h"
#include "sim/whatif/whatif.h"

namespace goodput {

struct RootCause {
  // worker-fault, stage-partition, sequence-length, gc-pauses, launch-delay, communication-flap
  std::string_view name;
  std::string_view criterion;   // what `value` is
  std::optional<double> value;  // absent where the trace cannot tell
  double threshold = 0;         // likely at or above, where the pattern fits
  bool likely = false;
  std::string evidence;  // the figures behind it, for people
  // Where it shows most, likely or not: a worker (dp * pp + stage), or a stage in all replicas, or neither.
  std::optional<std::size_t> worker = std::nullopt;
  std::optional<std::size_t> stage = std::nullopt;
};

// Below this slowdown there is nothing to explain, and shares of the loss are noise.
inline constexpr double kSlowdownWorthExplaining = 1.01;

struct RootCauseOptions {
  double launch_threshold = 1.03;
  unsigned jobs = 1;  // threads; the result does not depend on it
};

// All six, in the order above.
[[nodiscard]] std::vector<RootCause> find_root_causes(const OpGraph& graph, const Recording& recording,
                                                      const WhatIf& result, const RootCauseOptions& options);

}  // namespace goodput
