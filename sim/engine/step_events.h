// The events of a step that StepEngine (sim/engine/step_engine.h) runs, and what happens first of those at
// one moment.
#pragma once

#include <chrono>
#include <cstdint>

#include "sim/base/errors.h"
#include "sim/base/event_queue.h"
#include "sim/base/units.h"

namespace goodput {

enum class StepPriority : std::uint8_t {
  kFlowEnd,     // first: it ends ops and leaves bandwidth to flows that start now
  kOpEnd,       // what ends now has ended, before anything can slow or lose it
  kOpStart,     // a delay is over: like a start without one, which comes with the end before it
  kFlowStart,   // a latency is over: so that a loss at this moment finds the flow on its links
  kRateChange,  // ops that start now have it from their start
  kLoss,        // last: what could happen by this moment has happened
};

// An op and its lane, a flow, or the position of a disturbance in its list.
struct StepSubject {
  std::uint32_t id = 0;
  std::uint32_t lane = 0;
};

using StepQueue = EventQueue<StepPriority, StepSubject>;

// To the nearest nanosecond: how the end of everything that goes at some rate is rounded.
[[nodiscard]] inline SimDuration nearest_ns(std::chrono::duration<double, std::nano> duration) {
  GOODPUT_CHECK(duration.count() < 9e18, "an op takes longer than the simulator can represent (292 years)");
  return std::chrono::round<SimDuration>(duration);
}

}  // namespace goodput
