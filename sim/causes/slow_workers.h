// The workers that are steadily slower than their peers, as one set: several slow ones hide each other, and
// fixing one of them may gain nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/causes/pace.h"
#include "sim/causes/remedy.h"

namespace goodput {

// A slow worker, or all workers of a replica or a place.
struct SlowGroup {
  std::string kind;                  // "worker", "replica", or a kind of Recording::places
  std::string name;                  // of the place or replica; empty for a worker
  std::vector<std::size_t> workers;  // dp * pp + stage
  std::vector<std::string> fix;      // selectors of all their ops
};

// All suspects are fixed at once (their ops ideal): whole places (the largest first), whole replicas of
// several stages, single workers. The least slow first, those are dropped whose removal makes the step less
// than 1 % longer, all of them together. The slowest comes first.
[[nodiscard]] std::vector<SlowGroup> find_slow_workers(const AnalysedJob& job, const Pace& pace);

// How slow a worker is against its peers: its own pace times that of its replica, where either is beyond
// noise.
[[nodiscard]] double slowness(const Recording& recording, const Pace& pace, std::size_t worker);

}  // namespace goodput
