// What a StepEngine (sim/engine/step_engine.h) is given to run: how long each op takes, what it moves over
// which links, and what goes wrong meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/base/units.h"
#include "sim/engine/fair_share.h"
#include "sim/ops/op_graph.h"

namespace goodput {

// Dense numbers, 0 .. count-1.
using WorkerId = std::uint32_t;

// An op in one lane.
struct OpInstance {
  OpId op = 0;
  std::uint32_t lane = 0;

  friend bool operator==(const OpInstance&, const OpInstance&) = default;
};

// Who executes what: op in lane on worker of_op[op] + lane * per_lane.
struct Workers {
  std::vector<WorkerId> of_op;  // empty: one worker a lane
  std::uint32_t per_lane = 1;
};

// A transfer that takes bandwidth.
struct Flow {
  Bytes size;
  SimDuration latency{};         // before the first byte moves
  std::uint32_t first_link = 0;  // in StepWork::routes
  std::uint32_t link_count = 0;  // different ones; at least one, unless there is nothing to move
};

inline constexpr FlowId kNoFlow = std::numeric_limits<FlowId>::max();

// What each op takes. "By instance" is op-major: entry op * lanes + lane, without padding.
struct StepWork {
  std::vector<SimDuration> durations{};  // by instance; not read where there is a flow
  std::vector<SimDuration> delays{};     // by instance, or empty: none
  std::vector<FlowId> flow_of{};         // by instance, kNoFlow or a flow; or empty: no flows

  // Instances that meet may have one flow between them, which starts once and ends them all: a message is the
  // flow of its send and its receive, a ring collective one over all its links.
  std::vector<Flow> flows{};
  std::vector<LinkId> routes{};
  std::vector<BytesPerSecond> links{};  // capacities
};

enum class Contention : std::uint8_t {
  kNone,       // a flow is as fast as alone
  kFairShare,  // flows share links
};

// From `at` on, plain ops of the worker that have no flow go at `rate`: 1 is normal, 0.5 half as fast, 0 a
// stall until the next change.
struct RateChange {
  SimTime at;
  WorkerId worker = 0;
  double rate = 1;
};

// From `at` on, nothing starts or ends on the worker. Groups with an op there that has not ended move no more
// data: none of their other ops ends either, and their flows leave the links. What ends at this very moment
// has ended. Everything else goes on as long as it can.
struct WorkerLoss {
  SimTime at;
  WorkerId worker = 0;
};

struct Disturbances {
  std::vector<RateChange> rates;  // of equal times the last one holds
  std::vector<WorkerLoss> losses;
};

}  // namespace goodput
