// What the draws of a failure model are keyed by, and when things happen that take a drawn time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "sim/base/hash.h"
#include "sim/base/random.h"
#include "sim/base/units.h"
#include "sim/nodes/failure_model.h"

namespace goodput {

inline constexpr double kLeastSpeed = 0.01;      // of a node; slower ones are as good as lost
inline constexpr NodeId kMostNodes = 1'000'000;  // of a failure model

// For draws that belong to no node.
inline constexpr NodeId kWholeCluster = -1;
inline constexpr NodeId kReplayStart = -2;   // where in its recording a trial starts
inline constexpr NodeId kReturnOfHour = -3;  // how likely nodes return, by hour of the day

struct FailureKey {
  std::string_view model{};
  std::uint64_t seed = 0;
  std::uint64_t trial = 0;
  std::uint64_t index = 0;  // of the model in its list
  std::string_view pool{};  // empty: there is one

  [[nodiscard]] RandomStream stream(NodeId node) const {
    Hash id;
    if (!pool.empty()) id.add(pool);
    id.add(index);
    id.add(trial);
    id.add(node);
    return {seed, model, id.value()};
  }
};

// Nothing is drawn beyond: 64 bits of nanoseconds end at 292 years.
inline constexpr SimTime kFailureHorizon{std::chrono::years{100}};

// At least a nanosecond after `from`: a node that just joined cannot be lost at the same moment.
// SimTime::max() where that is beyond the horizon.
[[nodiscard]] inline SimTime later(SimTime from, double seconds) {
  const double left = to_seconds(kFailureHorizon - from);
  if (!(seconds < left)) return SimTime::max();
  return from + std::max(SimDuration{1}, from_seconds(seconds));
}

}  // namespace goodput
