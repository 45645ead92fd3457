// Runs one training step event by event: when every op starts and ends in every lane, where flows share
// links, workers change their speed and workers are lost in mid-step.
//
// Without any of these it is TimingEngine (sim/engine/timing.h) in whole nanoseconds, for lanes of one step;
// each is the other's test. A lane is a replica. Per lane, from time 0:
//   an op starts when its predecessors have ended and its delay is over;
//   a plain op then takes its duration; a grouped one moves data once its whole group has started, in all
//   lanes that it meets, which takes its own duration, or as long as its flow.
// A flow has a latency, then moves its bytes over all links of its route at one rate. Alone, or without
// contention, that is the least capacity of the route; under contention links are shared max-min fair
// (sim/engine/fair_share.h). Every end is rounded to the nanosecond once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/engine/running_ops.h"
#include "sim/engine/step_events.h"
#include "sim/engine/step_flows.h"
#include "sim/engine/step_topology.h"
#include "sim/engine/step_work.h"
#include "sim/engine/timing.h"
#include "sim/ops/op_graph.h"

namespace goodput {

struct StepOutcome {
  static constexpr SimTime kNever = SimTime::max();

  bool completed = false;             // every op has ended
  SimTime end;                        // of the last op that ended: the step's, if it completed
  std::vector<SimTime> starts;        // by instance, or kNever
  std::vector<SimTime> ends;          // by instance, or kNever
  std::vector<OpInstance> in_flight;  // started and never ended: lost, or waiting for something that was
  // Ends of ops and flows, rate changes and losses. An op that ends with its flow is part of that event.
  std::uint64_t events = 0;
};

// An event costs the time of a heap operation and of the op's successors; one that starts or ends a flow also
// that of all flows connected with it through shared links, some tens of nanoseconds each.
// Not thread-safe; engines over the same graph are independent.
class StepEngine {
 public:
  // Keeps a reference: `graph` must outlive the engine. REQUIRES: shape.steps == 1.
  StepEngine(const OpGraph& graph, LaneShape shape, Workers workers = {});

  // The outcome is valid until the next run. The step always completes if no worker is lost or left stalled.
  // REQUIRES: no duration, delay or size is negative; rates are finite and >= 0; times are >= 0 and, summed
  // up, below 292 years.
  const StepOutcome& run(const StepWork& work, const Disturbances& disturbances = {},
                         Contention contention = Contention::kNone);

  [[nodiscard]] std::size_t lanes() const { return topology_.lanes(); }

 private:
  [[nodiscard]] FlowId flow_of(OpInstance at) const {
    return work_->flow_of.empty() ? kNoFlow : work_->flow_of[topology_.index(at)];
  }
  [[nodiscard]] bool is_lost(OpInstance at) const {
    return is_watched_ && running_.is_lost(topology_.worker_of(at));
  }

  void reset(const StepWork& work, const Disturbances& disturbances, Contention contention);
  void check_work() const;
  void reset_progress();
  void queue_disturbances(const Disturbances& disturbances);
  void start_roots();
  bool advance(const Disturbances& disturbances);
  void finish(const Disturbances& disturbances);
  [[nodiscard]] std::string describe_blocked() const;

  void become_ready(OpInstance at);
  void start(OpInstance at);
  void compute(OpInstance at);
  void meet(OpInstance at);
  void transfer(OpInstance at);
  void end_at(OpInstance at, SimTime time);
  void end(OpInstance at);
  void end_flow(FlowId id);

  void lose(WorkerId worker);
  void break_meeting(OpInstance at);

  StepTopology topology_;

  // Of the run at hand.
  const StepWork* work_ = nullptr;
  Contention contention_ = Contention::kNone;
  bool is_watched_ = false;  // there are disturbances: what runs is tracked
  SimTime now_;
  std::size_t ended_ = 0;
  StepQueue queue_;
  std::vector<std::uint32_t> predecessors_left_;  // by instance
  std::vector<std::uint32_t> arrivals_left_;      // by meeting
  StepFlows flows_;
  RunningOps running_;
  StepOutcome outcome_;
};

}  // namespace goodput
