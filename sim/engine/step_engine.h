// Runs one training step event by event: when every op starts and ends in every lane, where flows share
// links, workers change their speed and workers are lost in mid-step.
//
// Without any of these it is TimingEngine (sim/engine/timing.h) in whole nanoseconds, for lanes of one step;
// each is the other's test. A lane is a data-parallel replica. Per lane, from time 0:
//   an op starts when its predecessors have ended and its delay is over;
//   a plain op then takes its duration; a grouped one moves data once its whole group has started, which
//   takes its own duration, or as long as its flow.
// A flow has a latency, then moves its bytes over all links of its route at one rate. Alone, or without
// contention, that is the least capacity of the route; under contention links are shared max-min fair
// (sim/engine/fair_share.h). Every end is rounded to the nanosecond once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/base/event_queue.h"
#include "sim/base/units.h"
#include "sim/engine/fair_share.h"
#include "sim/engine/timing.h"
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

  [[nodiscard]] std::size_t lanes() const { return lanes_; }

 private:
  // Of events at one moment.
  enum class Priority : std::uint8_t {
    kFlowEnd,     // first: it ends ops and leaves bandwidth to flows that start now
    kOpEnd,       // what ends now has ended, before anything can slow or lose it
    kOpStart,     // a delay is over: like a start without one, which comes with the end before it
    kFlowStart,   // a latency is over: so that a loss at this moment finds the flow on its links
    kRateChange,  // ops that start now have it from their start
    kLoss,        // last: what could happen by this moment has happened
  };
  // An op and its lane, a flow, or the position of a disturbance in its list.
  struct Subject {
    std::uint32_t id;
    std::uint32_t lane;
  };
  using Queue = EventQueue<Priority, Subject>;

  // What the hot path wants to know of an op.
  struct OpFacts {
    std::uint32_t first_successor;  // in successors_; the end is the next op's
    std::uint32_t unit;
    std::uint32_t meeting;  // of lane 0; grouped ops only
    Sync sync;
  };
  struct FlowState {
    double remaining = 0;  // bytes when it was last looked at
    double rate = 0;       // bytes per second since
    SimTime since;
    SimTime end = StepOutcome::kNever;    // as things stand; an event at another time is out of date
    SimTime event = StepOutcome::kNever;  // the last one pushed and not yet popped
    enum class Phase : std::uint8_t { kWaiting, kLatency, kMoving, kOver } phase = Phase::kWaiting;
  };
  // An op that computes or moves data while disturbances may hit it.
  struct Running {
    OpInstance at;
    double remaining;  // nanoseconds of work at rate 1 when it was last looked at; compute only
    SimTime since;
    SimTime end;  // as things stand; kNever if it is stalled, lost or has a flow
  };

  [[nodiscard]] std::size_t index(OpInstance at) const { return at.op * lanes_ + at.lane; }
  [[nodiscard]] std::size_t meeting_of(OpInstance at) const;
  [[nodiscard]] WorkerId worker_of(OpInstance at) const;
  [[nodiscard]] FlowId flow_of(OpInstance at) const;
  [[nodiscard]] bool is_compute(OpInstance at) const;
  template <typename Function>
  void for_each_peer(OpInstance at, const Function& function) const;

  [[nodiscard]] bool meets(OpInstance a, OpInstance b) const;
  [[nodiscard]] std::span<const LinkId> route_of(const Flow& flow) const;
  [[nodiscard]] std::span<const OpInstance> ops_of(FlowId flow) const;

  void link_successors();
  void number_meetings();

  void reset(const StepWork& work, const Disturbances& disturbances, Contention contention);
  void check_work() const;
  void reset_progress();
  void reset_flows();
  void check_routes() const;
  [[nodiscard]] SimDuration compute_alone(const Flow& flow) const;
  void list_flow_ops();
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

  void launch_flow(FlowId id);
  void begin_flow(FlowId id);
  void reschedule_flows(std::span<const FlowId> connected);
  void update_rate(FlowState& flow, double rate) const;
  void end_flow(FlowId id);
  void drop_flow(FlowId id);

  [[nodiscard]] bool is_lost(OpInstance at) const;
  [[nodiscard]] Running* find_running(OpInstance at);
  [[nodiscard]] bool stop_running(OpInstance at, SimTime end);
  void change_rate(const RateChange& change);
  void schedule_end(Running& running, double rate);
  void lose(WorkerId worker);
  void break_meeting(OpInstance at);

  const OpGraph& graph_;
  std::size_t lanes_;
  Workers workers_;
  std::size_t worker_count_ = 0;
  std::vector<OpFacts> facts_;  // by op, and one more
  std::vector<OpId> successors_;
  std::size_t meeting_count_ = 0;

  // Of the run at hand.
  const StepWork* work_ = nullptr;
  Contention contention_ = Contention::kNone;
  bool watched_ = false;  // there are disturbances: what runs is tracked
  SimTime now_;
  std::size_t ended_ = 0;
  Queue queue_;
  std::vector<std::uint32_t> predecessors_left_;  // by instance
  std::vector<std::uint32_t> arrivals_left_;      // by meeting
  FairShare shares_;
  std::vector<FlowState> flows_;
  std::vector<SimDuration> alone_;             // by flow: what it takes alone
  std::vector<std::uint32_t> first_flow_op_;   // by flow, in flow_ops_; one more
  std::vector<OpInstance> flow_ops_;           // the ops that end with a flow
  std::vector<std::vector<Running>> running_;  // by worker
  std::vector<double> rates_;                  // by worker
  std::vector<char> is_lost_;                  // by worker
  StepOutcome outcome_;
};

}  // namespace goodput
