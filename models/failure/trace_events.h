// Which nodes come and go in a part of a recording.
#pragma once

#include <cstdint>
#include <vector>

#include "models/failure/failure_draws.h"
#include "models/failure/failure_setup.h"
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

// Of these events up to `end`: the moments at which a job loses some of its nodes, over that time. Of N nodes
// that are there and k that are lost at a moment, none is among the n that the job uses with probability
// C(N-k, n) / C(N, n): any of them may be the job's, for nobody knows which. Nothing is lost in no time.
[[nodiscard]] InterruptionRate loss_rate(const std::vector<NodeEvent>& events, SimTime end);

}  // namespace goodput
