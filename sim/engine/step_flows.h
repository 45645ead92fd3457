// The flows of a step that share links: when each starts to move its bytes, how fast it goes, and when it
// ends.
//
// A part of StepEngine (sim/engine/step_engine.h), which starts the flows when ops meet and ends the ops that
// end with them. Ends are events; a flow whose rate changes gets a new one, and the old one is out of date
// when it comes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/engine/fair_share.h"
#include "sim/engine/step_events.h"
#include "sim/engine/step_topology.h"
#include "sim/engine/step_work.h"

namespace goodput {

class StepFlows {
 public:
  // Checks the flows of `work`, which must outlive the run. No flow has started.
  void reset(const StepWork& work, const StepTopology& topology);

  // What the flow takes when it shares no link.
  [[nodiscard]] SimDuration alone(FlowId id) const { return alone_[id]; }
  // The instances that end with it.
  [[nodiscard]] std::span<const OpInstance> ops_of(FlowId id) const {
    return std::span(flow_ops_).subspan(first_flow_op_[id], first_flow_op_[id + 1] - first_flow_op_[id]);
  }

  // Its latency begins; does nothing if it has begun before.
  void launch(FlowId id, SimTime now, StepQueue& queue) {
    if (flows_[id].phase == State::Phase::kWaiting) start_latency(id, now, queue);
  }
  // A kFlowStart: its latency is over.
  void end_latency(FlowId id) {
    if (flows_[id].phase == State::Phase::kLatency) begin(id);
  }
  // A kFlowEnd: whether it ends now, as things stand.
  [[nodiscard]] bool take_end(FlowId id, SimTime now) {
    flows_[id].event = SimTime::max();
    return flows_[id].end == now;
  }
  // It has ended, or never will: leaves its links.
  void drop(FlowId id);

  // Flows have come onto links or left them since settle(): rates are out of date.
  [[nodiscard]] bool is_unsettled() const { return shares_.is_unsettled(); }
  void settle(SimTime now, StepQueue& queue);

 private:
  struct State {
    double remaining = 0;  // bytes when it was last looked at
    double rate = 0;       // bytes per second since
    SimTime since;
    SimTime end = SimTime::max();    // as things stand; an event at another time is out of date
    SimTime event = SimTime::max();  // the last one pushed and not yet popped
    enum class Phase : std::uint8_t { kWaiting, kLatency, kMoving, kOver } phase = Phase::kWaiting;
  };

  void check_routes() const;
  [[nodiscard]] std::span<const LinkId> route_of(const Flow& flow) const;
  [[nodiscard]] SimDuration compute_alone(const Flow& flow) const;
  void list_flow_ops(const StepTopology& topology);
  void start_latency(FlowId id, SimTime now, StepQueue& queue);
  void begin(FlowId id);
  void reschedule(std::span<const FlowId> connected, SimTime now, StepQueue& queue);
  static void update_rate(State& flow, double rate, SimTime now);

  const StepWork* work_ = nullptr;
  FairShare shares_;
  std::vector<State> flows_;
  std::vector<SimDuration> alone_;            // by flow
  std::vector<std::uint32_t> first_flow_op_;  // by flow, in flow_ops_; one more
  std::vector<OpInstance> flow_ops_;
};

}  // namespace goodput
