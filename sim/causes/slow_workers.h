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

// Those that have to be fixed together, the slowest first, and what fixing all of them gains.
struct SlowWorkers {
  std::vector<SlowGroup> groups;
  double gain = 1;
};

// All suspects are fixed at once (their ops ideal): whole places (the largest first), whole replicas of
// several stages, single workers. The least slow first, those are dropped whose removal makes the step less
// than 1 % longer, all of them together.
[[nodiscard]] SlowWorkers find_slow_workers(const AnalysedJob& job, const PassPace& pace);

// One worker by itself.
[[nodiscard]] SlowGroup lone_worker(const Recording& recording, std::size_t worker);

// Whether most stages of a replica are slow, beyond noise.
[[nodiscard]] bool is_replica_slow(const PassPace& pace, std::size_t dp_rank);

// What a worker takes against its peers, by step: its own, times that of its replica where that is slow
// beyond noise.
[[nodiscard]] std::vector<double> pace_by_step(const PassPace& pace, std::size_t dp_rank, std::size_t stage);

// Its mean; 1 where that is no more than noise.
[[nodiscard]] double slowness(const Recording& recording, const PassPace& pace, std::size_t worker);

}  // namespace goodput
