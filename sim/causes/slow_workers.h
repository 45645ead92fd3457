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
};

// Those that have to be fixed together, the slowest first, and what fixing all of them gains.
struct SlowWorkers {
  std::vector<SlowGroup> groups;
  double gain = 1;
  bool are_slow = true;  // false: no worker is slow, and this is the slowest
};

// Brings the passes of these workers to the pace of their healthy peers, and their optimizers too if those
// are also slow. Messages and collectives stay as recorded, and so do steps in which a worker is slower only
// within noise. In a job with one replica the peers are the other stages.
[[nodiscard]] Remedy repair_of(const Recording& recording, const PassPace& pace,
                               const std::vector<std::size_t>& workers);

// The workers of all groups.
[[nodiscard]] std::vector<std::size_t> workers_of(const std::vector<SlowGroup>& groups);

// Suspects are whole places (the largest first), whole replicas of several stages, and single workers. All
// are repaired at once. Then suspects are dropped, the least slow first, as long as the step without the
// repairs of all dropped ones is less than 1 % longer.
[[nodiscard]] SlowWorkers find_slow_workers(const AnalysedJob& job, const PassPace& pace);

// The slow workers. If there are none, the slowest worker alone; in a job of one replica and several stages,
// the worker of the slowest stage.
[[nodiscard]] SlowWorkers slow_or_slowest(const AnalysedJob& job, const PassPace& pace);

// One worker by itself.
[[nodiscard]] SlowGroup lone_worker(std::size_t worker);

// Whether most stages of a replica are slower by more than noise.
[[nodiscard]] bool is_replica_slow(const PassPace& pace, std::size_t dp_rank);

// A worker's pace relative to its peers, by step: its own, times that of its replica if the replica is slower
// by more than noise.
[[nodiscard]] std::vector<double> pace_by_step(const PassPace& pace, std::size_t dp_rank, std::size_t stage);

// The mean of pace_by_step; 1 if it is within noise.
[[nodiscard]] double slowness(const Recording& recording, const PassPace& pace, std::size_t worker);

}  // namespace goodput
