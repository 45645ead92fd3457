// The workers that are steadily slower than their peers, as one set: several slow ones hide each other, and
// fixing one of them may gain nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/causes/pace.h"
#include "sim/causes/remedy.h"

namespace goodput {

// Slow workers that have one thing in common, or nothing but that they are slow.
struct SlowGroup {
  std::string kind;                  // "worker", "replica", or a kind of Recording::places
  std::vector<std::size_t> workers;  // dp * pp + stage, ascending
  std::vector<std::string> names;    // of the replicas or places; empty for workers
  std::vector<std::string> fix;      // selectors of all their ops
};

struct SlowWorkers {
  std::vector<std::size_t> suspects;  // ascending: slower than peers, beyond noise
  std::vector<SlowGroup> groups;      // of those without whose repair the step is at least 1 % longer
};

// Begins with all suspects fixed (their ops ideal) and drops, the least slow first, whoever's removal makes
// the step less than 1 % longer. Of what remains, whole places (the largest first), then whole replicas of
// several stages are groups of their own, unless only all together gain: then they are one group.
[[nodiscard]] SlowWorkers find_slow_workers(const AnalysedJob& job, const Pace& pace);

// How slow a worker is against its peers: its own pace times that of its replica, where either is beyond
// noise.
[[nodiscard]] double slowness(const Recording& recording, const Pace& pace, std::size_t worker);

}  // namespace goodput
