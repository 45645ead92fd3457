// Which nodes come and go in a part of a recording.
#pragma once

#include <cstdint>
#include <vector>

#include "models/failure/failure_draws.h"
#include "sim/nodes/failure_model.h"
#include "sim/nodes/spot_trace.h"

namespace goodput {

// Part of a recording; times of its events are from `begin` on. What happens at `begin` has happened already,
// what happens at `end` is still seen.
struct TraceSegment {
  SimTime begin{};
  SimTime end{};
};

// Of a recording of events. Who is held at the beginning joins at time 0, in order of having joined.
[[nodiscard]] std::vector<NodeEvent> events_of_nodes(const SpotTrace& trace, const TraceSegment& segment);

// Who is lost when a count drops.
enum class TraceVictims : std::uint8_t { kRandom, kNewest, kOldest };

// Of a recording of counts. Nodes join under the lowest free ids.
[[nodiscard]] std::vector<NodeEvent> events_of_counts(const SpotTrace& trace, const TraceSegment& segment,
                                                      TraceVictims victims, const FailureKey& key);

}  // namespace goodput
