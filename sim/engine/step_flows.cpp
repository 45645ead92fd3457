#include "sim/engine/step_flows.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include "sim/base/errors.h"

namespace goodput {
namespace {

SimDuration time_to_move(double bytes, double bytes_per_second) {
  return nearest_ns(std::chrono::duration<double>(bytes / bytes_per_second));
}

}  // namespace

// ---- Before a run

void StepFlows::reset(const StepWork& work, const StepTopology& topology) {
  work_ = &work;
  check_routes();
  flows_.assign(work.flows.size(), {});
  alone_.clear();
  for (const Flow& flow : work.flows) alone_.push_back(compute_alone(flow));
  shares_.reset(work.links, work.flows.size());
  list_flow_ops(topology);
}

void StepFlows::check_routes() const {
  const std::size_t links = work_->links.size();
  for (const BytesPerSecond link : work_->links)
    GOODPUT_CHECK(link.value > 0, "a link must have a capacity above 0");
  std::vector<FlowId> last_flow(links, kNoFlow);  // by link
  for (FlowId id = 0; id < work_->flows.size(); ++id) {
    const Flow& flow = work_->flows[id];
    const std::size_t end = std::size_t{flow.first_link} + flow.link_count;
    GOODPUT_CHECK(flow.size >= Bytes{0} && flow.latency >= SimDuration{0},
                  "a flow must not have a negative size or latency");
    GOODPUT_CHECK(flow.link_count > 0 || flow.size == Bytes{0}, "a flow that moves bytes must use a link");
    GOODPUT_CHECK(end <= work_->routes.size(), "the route of a flow must be within the list of routes");
    for (const LinkId link : route_of(flow)) {
      GOODPUT_CHECK(link < links && last_flow[link] != id,
                    "a flow must cross existing links, each only once");
      last_flow[link] = id;
    }
  }
}

std::span<const LinkId> StepFlows::route_of(const Flow& flow) const {
  return std::span(work_->routes).subspan(flow.first_link, flow.link_count);
}

SimDuration StepFlows::compute_alone(const Flow& flow) const {
  if (flow.size == Bytes{0}) return flow.latency;
  BytesPerSecond least{std::numeric_limits<double>::infinity()};
  for (const LinkId link : route_of(flow)) least = std::min(least, work_->links[link]);
  return flow.latency + time_to_move(static_cast<double>(flow.size.value), least.value);
}

// Sorts the instances by flow, counting.
void StepFlows::list_flow_ops(const StepTopology& topology) {
  first_flow_op_.assign(flows_.size() + 1, 0);
  flow_ops_.clear();
  if (work_->flow_of.empty()) return;
  for (const FlowId flow : work_->flow_of) {
    GOODPUT_CHECK(flow == kNoFlow || flow < flows_.size(), "an op refers to a flow that does not exist");
    if (flow != kNoFlow) ++first_flow_op_[flow];
  }
  std::partial_sum(first_flow_op_.begin(), first_flow_op_.end(), first_flow_op_.begin());
  flow_ops_.resize(first_flow_op_.back());
  for (auto op = static_cast<OpId>(topology.graph().size()); op-- > 0;) {
    for (auto lane = static_cast<std::uint32_t>(topology.lanes()); lane-- > 0;) {
      const FlowId flow = work_->flow_of[topology.index({op, lane})];
      if (flow != kNoFlow) flow_ops_[--first_flow_op_[flow]] = {op, lane};
    }
  }
  for (FlowId flow = 0; flow < flows_.size(); ++flow) {
    const auto ops = ops_of(flow);
    const auto meet = [&](OpInstance at) { return topology.meets(at, ops.front()); };
    GOODPUT_CHECK(std::all_of(ops.begin(), ops.end(), meet),
                  "all ops of a flow must belong to the same group");
  }
}

// ---- The life of a flow

void StepFlows::start_latency(FlowId id, SimTime now, StepQueue& queue) {
  State& state = flows_[id];
  const Flow& flow = work_->flows[id];
  state.phase = State::Phase::kLatency;
  if (flow.size == Bytes{0}) {
    state.end = now + flow.latency;
    queue.push(state.end, StepPriority::kFlowEnd, {id, 0});
  } else if (flow.latency == SimDuration{0}) {
    begin(id);
  } else {
    queue.push(now + flow.latency, StepPriority::kFlowStart, {id, 0});
  }
}

void StepFlows::begin(FlowId id) {
  const Flow& flow = work_->flows[id];
  flows_[id].phase = State::Phase::kMoving;
  flows_[id].remaining = static_cast<double>(flow.size.value);
  shares_.start(id, route_of(flow));
}

void StepFlows::drop(FlowId id) {
  State& flow = flows_[id];
  if (flow.phase == State::Phase::kMoving) shares_.stop(id);
  flow.phase = State::Phase::kOver;
  flow.end = SimTime::max();
}

void StepFlows::settle(SimTime now, StepQueue& queue) {
  shares_.settle([&](std::span<const FlowId> connected) { reschedule(connected, now, queue); });
}

// One event is enough for flows that share links: when the first of them ends, they all come here again.
void StepFlows::reschedule(std::span<const FlowId> connected, SimTime now, StepQueue& queue) {
  SimTime first = SimTime::max();
  for (const FlowId id : connected) {
    update_rate(flows_[id], shares_.rate(id).value, now);
    first = std::min(first, flows_[id].end);
  }
  for (const FlowId id : connected) {
    State& flow = flows_[id];
    if (flow.end != first || flow.event == first) continue;
    flow.event = first;
    queue.push(first, StepPriority::kFlowEnd, {id, 0});
  }
}

// A flow whose rate stays is left alone: what it has moved is not rounded again.
void StepFlows::update_rate(State& flow, double rate, SimTime now) {
  if (flow.rate == rate) return;
  const double moved = flow.rate * to_seconds(now - flow.since);
  // Up to the half nanosecond by which its end was rounded.
  GOODPUT_CHECK(moved <= flow.remaining * (1 + 1e-9) + flow.rate * 1e-9,
                "a flow moved more bytes than it has");
  flow.remaining = std::max(flow.remaining - moved, 0.0);
  flow.since = now;
  flow.rate = rate;
  flow.end = now + time_to_move(flow.remaining, rate);
}

}  // namespace goodput
