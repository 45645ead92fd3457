// One job of a generated fleet: what the mixture deals it, and the trace in which it comes true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/fleet/fleet_mixture.h"
#include "models/plan/stragglers.h"
#include "models/synth/synthetic_trace.h"
#include "sim/base/errors.h"

namespace goodput {

struct FleetMember {
  std::string name;  // job-00017
  std::uint64_t seed = 0;
  FleetShape shape;
  std::optional<std::size_t> kind;  // of kStragglerKinds; absent: nothing slows it down
  double slowdown = 1;              // S that is aimed at
  double discrepancy = 0;           // the same of the replay
  std::int32_t steps = 1;
  std::int64_t restarts = 0;
  double hours = 0;
  std::size_t slow_worker = 0;     // of a worker fault: dp_rank * pp + stage
  std::vector<std::string> hosts;  // by worker

  [[nodiscard]] double gpu_hours() const { return hours * static_cast<double>(shape.gpus()); }
};

// The same seed makes the same job, however many there are beside it.
[[nodiscard]] FleetMember deal_member(const FleetMixture& mixture, std::uint64_t seed, std::size_t number);

struct FleetTrace {
  SyntheticTrace trace;
  std::vector<Straggler> stragglers;
  std::int32_t vpp = 1;
};

// The stragglers are as severe as the job's slowdown wants: it is met to 0.05 % where noise alone does not
// slow it more, and the kind can slow it that much.
Result<FleetTrace> trace_of_member(const FleetMixture& mixture, const FleetMember& member);

}  // namespace goodput
