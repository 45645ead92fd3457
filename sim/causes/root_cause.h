// Likely causes of a job's slowdown: patterns that point at a cause, each with the gain of its fix.
//
// After "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI'25, section 5) and
// docs/design.md, "Likely causes". A job may have several causes or none.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/causes/doubt.h"
#include "sim/causes/patterns.h"
#include "sim/causes/remedy.h"
#include "sim/causes/time_pattern.h"

namespace goodput {

struct RootCause {
  // worker-fault, slow-replica, slow-host (-switch, -rack), stage-partition, sequence-length, gc-pauses,
  // launch-delay, slow-link, communication-flap
  std::string name;
  bool likely = false;
  std::string reason;            // why it is not likely; empty where it is
  std::vector<std::string> fix;  // selectors that undo it (sim/causes/fix.h)
  std::optional<double> gain;    // the step over the step with the fix; absent where nothing can be fixed
  std::string_view criterion;    // what `value` is
  std::optional<double> value;   // of the pattern; absent where the trace cannot tell
  double threshold = 0;          // the pattern is there at or above
  std::string evidence;          // the figures behind it, for people

  // Where it shows most, likely or not: workers (dp * pp + stage) with their pace against their peers, or a
  // stage in all replicas, or neither.
  struct SlowWorker {
    std::size_t worker = 0;
    double pace = 1;
    TimePattern time = {};  // of the worker, or of the replica or place that is slow
  };
  std::vector<SlowWorker> workers = {};
  std::optional<std::size_t> stage = std::nullopt;
  std::optional<std::size_t> peer_stage = std::nullopt;  // of messages that all go to or come from it
  std::size_t more_links = 0;                            // slow ones besides that between these stages
  std::optional<TimePattern> time = std::nullopt;        // of launch delays, and of the slowest link
};

// Below this slowdown there is nothing to explain, and a fix that gains less is not worth naming.
inline constexpr double kSlowdownWorthExplaining = 1.01;

// At least one cause of each kind; likely ones first, then by gain. A doubt rules out all causes but late
// launches, because a replay leaves late launches out.
[[nodiscard]] std::vector<RootCause> find_root_causes(const AnalysedJob& job, const Patterns& patterns,
                                                      double launch_threshold,
                                                      const std::optional<Doubt>& doubt = std::nullopt);

}  // namespace goodput
