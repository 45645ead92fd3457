// Compares the clocks of a recording's workers by ops that end together but are timed by two clocks.
//
// A message's send and its receive end together, and so do the ops of a params-all-gather and of a
// grads-reduce-scatter; those of an optimizer-clip-main-grad do not. The difference of two recorded ends is
// the difference of the clocks, and noise that grows with the transfer. How long a worker waited does not
// matter: slow workers and slow links move both ends alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/ops/op_graph.h"
#include "sim/recording/recording.h"

namespace goodput {

// Clocks and meeting points are nodes. A collective is a star: every worker of the stage that takes part is
// paired with a meeting point of all that do, whose time is nobody's.
struct ClockPair {
  std::uint32_t a = 0;  // nodes; equal for two workers of one clock
  std::uint32_t b = 0;
  std::uint32_t worker_a = 0;
  std::uint32_t worker_b = 0;  // kMeetingPoint for the stage's meeting point
};
inline constexpr std::uint32_t kMeetingPoint = ~0U;

// a's clock minus b's, as one step shows it.
struct ClockDifference {
  double seconds = 0;
  double noise_s = 0;  // standard error, judged by how the ops behind it vary
};

// How far a clock may be from the offset at which it ends collectives together with the other replicas, given
// that no worker ends a collective before all have started it. A slow network leaves such slack; a clock that
// was set does not, and neither do messages.
struct ClockSlack {
  double early_s = std::numeric_limits<double>::infinity();
  double late_s = std::numeric_limits<double>::infinity();
};

struct ClockNetwork {
  std::vector<std::string> names;              // by clock: of the host, or `rank 12`
  std::vector<std::uint32_t> clock_of_worker;  // in the order of Recording::ranks
  std::size_t nodes = 0;  // clocks, then meeting points: a stage, then a block of replicas
  std::vector<ClockPair> pairs;
  std::vector<ClockDifference> differences;  // by step, pairs.size() each
  std::vector<ClockSlack> slack;             // by step, then clock

  [[nodiscard]] std::span<const ClockDifference> of_step(std::size_t step) const {
    return std::span(differences).subspan(step * pairs.size(), pairs.size());
  }
};

// The weighted median, weights 1/noise, interpolated between the middle two, and its noise. Reorders
// `samples`. REQUIRES: samples, each with noise.
[[nodiscard]] ClockDifference take_middle(std::span<ClockDifference> samples);

// The workers of a host (the place kind "host", where there is one) have one clock; a worker of no known host
// has its own, and so has every rank of a job seen by its collectives: a profiler brings the times of a
// device to the host's clock for each process anew. Time and memory are linear in workers and steps.
[[nodiscard]] ClockNetwork measure_clocks(const Recording& recording, const OpGraph& graph);

}  // namespace goodput
