// One training step of a TraceSpec, simulated forwards on all workers: when every op starts and ends on a
// true clock.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "sim/ops/op_type.h"
#include "tests/support/trace_generator.h"

namespace goodput::testing {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// An op as it happens; what the trace leaves unset is -1.
struct Event {
  double start = kUnknown;
  double end = kUnknown;
  int mc = -1;
  int mb = -1;
  int gmc = -1;
};

struct Worker {
  double step_start = 0;
  std::array<std::vector<Event>, kNdtimelineTypeCount> ops;  // by type, in order of their start

  std::vector<Event>& operator[](OpType type) { return ops[index_of(type)]; }
  const std::vector<Event>& operator[](OpType type) const { return ops[index_of(type)]; }
};

// The nearest multiple of the time grid if the spec wants exact ties, else the same.
[[nodiscard]] double on_grid(const TraceSpec& spec, double seconds);

// Of step `index`, counted from 0: the workers by dp rank, then stage. Seconds from an origin common to all
// workers. REQUIRES: what generate_trace() does of the spec.
[[nodiscard]] std::vector<Worker> simulate_step(const TraceSpec& spec, int index);

}  // namespace goodput::testing
