#include "sim/engine/step_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {
namespace {

constexpr SimTime kNever = StepOutcome::kNever;
constexpr SimTime kStart{};

SimDuration nearest(std::chrono::duration<double, std::nano> duration) {
  GOODPUT_CHECK(duration.count() < 9e18, "an op takes longer than time is counted");
  return std::chrono::round<SimDuration>(duration);
}

SimDuration time_to_move(double bytes, double bytes_per_second) {
  return nearest(std::chrono::duration<double>(bytes / bytes_per_second));
}

double nanoseconds(SimDuration duration) {
  return static_cast<double>(duration.count());
}

template <typename Durations>
bool any_negative(const Durations& durations) {
  return std::any_of(durations.begin(), durations.end(), [](SimDuration d) { return d < SimDuration{0}; });
}

}  // namespace

StepEngine::StepEngine(const OpGraph& graph, LaneShape shape, Workers workers)
    : graph_(graph), lanes_(shape.lanes()), workers_(std::move(workers)) {
  GOODPUT_CHECK(shape.steps == 1 && lanes_ > 0, "a step engine runs one step, of one lane or more");
  if (workers_.of_op.empty()) workers_.of_op.assign(graph.size(), 0);
  GOODPUT_CHECK(workers_.of_op.size() == graph.size(), "every op has a worker");
  if (graph.size() > 0) {
    const WorkerId last = *std::max_element(workers_.of_op.begin(), workers_.of_op.end());
    worker_count_ = last + (lanes_ - 1) * workers_.per_lane + 1;
  }
  facts_.resize(graph.size() + 1);
  link_successors();
  number_meetings();
}

void StepEngine::link_successors() {
  for (OpId op = 0; op < graph_.size(); ++op) {
    for (const OpId before : graph_.predecessors(op)) ++facts_[before + 1].first_successor;
  }
  for (OpId op = 0; op < graph_.size(); ++op) facts_[op + 1].first_successor += facts_[op].first_successor;
  successors_.resize(facts_.back().first_successor);
  std::vector<std::uint32_t> filled(graph_.size(), 0);
  for (OpId op = 0; op < graph_.size(); ++op) {
    for (const OpId before : graph_.predecessors(op)) {
      successors_[facts_[before].first_successor + filled[before]++] = op;
    }
  }
}

void StepEngine::number_meetings() {
  for (std::uint32_t u = 0; u < graph_.units().size(); ++u) {
    const OpGraph::Unit& unit = graph_.units()[u];
    for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
      facts_[op].unit = u;
      facts_[op].meeting = static_cast<std::uint32_t>(meeting_count_);
      facts_[op].sync = unit.sync;
    }
    meeting_count_ += unit.sync == Sync::kNone ? 0 : unit.sync == Sync::kLane ? lanes_ : 1;
  }
  GOODPUT_CHECK(meeting_count_ < kNoFlow, "too many meetings");
}

std::size_t StepEngine::meeting_of(OpInstance at) const {
  const OpFacts& facts = facts_[at.op];
  return facts.sync == Sync::kReplicas ? facts.meeting : facts.meeting + at.lane;
}

WorkerId StepEngine::worker_of(OpInstance at) const {
  return workers_.of_op[at.op] + at.lane * workers_.per_lane;
}

FlowId StepEngine::flow_of(OpInstance at) const {
  return work_->flow_of.empty() ? kNoFlow : work_->flow_of[index(at)];
}

bool StepEngine::is_compute(OpInstance at) const {
  return facts_[at.op].sync == Sync::kNone && flow_of(at) == kNoFlow;
}

// All that meet with `at`, itself included.
template <typename Function>
void StepEngine::for_each_peer(OpInstance at, const Function& function) const {
  const OpGraph::Unit& unit = graph_.units()[facts_[at.op].unit];
  const bool all_lanes = unit.sync == Sync::kReplicas;
  const auto end = all_lanes ? static_cast<std::uint32_t>(lanes_) : at.lane + 1;
  for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
    for (std::uint32_t lane = all_lanes ? 0 : at.lane; lane < end; ++lane) function(OpInstance{op, lane});
  }
}

// ---- A run

const StepOutcome& StepEngine::run(const StepWork& work, const Disturbances& disturbances,
                                   Contention contention) {
  reset(work, disturbances, contention);
  start_roots();
  while (ended_ < outcome_.ends.size() && advance(disturbances)) {
  }
  finish(disturbances);
  return outcome_;
}

void StepEngine::reset(const StepWork& work, const Disturbances& disturbances, Contention contention) {
  work_ = &work;
  contention_ = contention;
  watched_ = !disturbances.rates.empty() || !disturbances.losses.empty();
  now_ = kStart;
  ended_ = 0;
  queue_.clear();
  check_work();
  reset_progress();
  reset_flows();
  if (watched_) queue_disturbances(disturbances);
}

void StepEngine::check_work() const {
  const std::size_t instances = graph_.size() * lanes_;
  const StepWork& work = *work_;
  GOODPUT_CHECK(work.durations.size() == instances, "every op has a duration in every lane");
  GOODPUT_CHECK(work.delays.empty() || work.delays.size() == instances, "all ops have a delay or none");
  GOODPUT_CHECK(work.flow_of.empty() || work.flow_of.size() == instances, "all ops say what flow they have");
  GOODPUT_CHECK(!any_negative(work.durations) && !any_negative(work.delays), "time runs forwards");
}

void StepEngine::reset_progress() {
  const std::size_t instances = graph_.size() * lanes_;
  outcome_.completed = false;
  outcome_.end = kStart;
  outcome_.starts.assign(instances, kNever);
  outcome_.ends.assign(instances, kNever);
  outcome_.in_flight.clear();
  outcome_.events = 0;
  predecessors_left_.resize(instances);
  for (OpId op = 0; op < graph_.size(); ++op) {
    const auto count = static_cast<std::uint32_t>(graph_.predecessors(op).size());
    std::fill_n(predecessors_left_.begin() + static_cast<std::ptrdiff_t>(op * lanes_), lanes_, count);
  }
  arrivals_left_.clear();
  for (const OpGraph::Unit& unit : graph_.units()) {
    if (unit.sync == Sync::kLane) arrivals_left_.insert(arrivals_left_.end(), lanes_, unit.count);
    if (unit.sync == Sync::kReplicas)
      arrivals_left_.push_back(static_cast<std::uint32_t>(unit.count * lanes_));
  }
}

void StepEngine::reset_flows() {
  check_routes();
  flows_.assign(work_->flows.size(), {});
  alone_.clear();
  for (const Flow& flow : work_->flows) alone_.push_back(compute_alone(flow));
  shares_.reset(work_->links, work_->flows.size());
  list_flow_ops();
}

void StepEngine::check_routes() const {
  const std::size_t links = work_->links.size();
  for (const BytesPerSecond link : work_->links) GOODPUT_CHECK(link.value > 0, "a link has a capacity");
  std::vector<FlowId> last_flow(links, kNoFlow);  // by link
  for (FlowId id = 0; id < work_->flows.size(); ++id) {
    const Flow& flow = work_->flows[id];
    const std::size_t end = std::size_t{flow.first_link} + flow.link_count;
    GOODPUT_CHECK(flow.size >= Bytes{0} && flow.latency >= SimDuration{0},
                  "a flow moves something or nothing");
    GOODPUT_CHECK(flow.link_count > 0 || flow.size == Bytes{0}, "a flow that moves bytes needs a link");
    GOODPUT_CHECK(end <= work_->routes.size(), "a flow has its route");
    for (const LinkId link : route_of(flow)) {
      GOODPUT_CHECK(link < links && last_flow[link] != id, "a flow crosses links there are, each once");
      last_flow[link] = id;
    }
  }
}

SimDuration StepEngine::compute_alone(const Flow& flow) const {
  if (flow.size == Bytes{0}) return flow.latency;
  BytesPerSecond least{std::numeric_limits<double>::infinity()};
  for (const LinkId link : route_of(flow)) least = std::min(least, work_->links[link]);
  return flow.latency + time_to_move(static_cast<double>(flow.size.value), least.value);
}

std::span<const LinkId> StepEngine::route_of(const Flow& flow) const {
  return std::span(work_->routes).subspan(flow.first_link, flow.link_count);
}

// Sorts the instances by flow, counting.
void StepEngine::list_flow_ops() {
  first_flow_op_.assign(flows_.size() + 1, 0);
  flow_ops_.clear();
  if (work_->flow_of.empty()) return;
  for (const FlowId flow : work_->flow_of) {
    GOODPUT_CHECK(flow == kNoFlow || flow < flows_.size(), "a flow that is not there");
    if (flow != kNoFlow) ++first_flow_op_[flow];
  }
  std::partial_sum(first_flow_op_.begin(), first_flow_op_.end(), first_flow_op_.begin());
  flow_ops_.resize(first_flow_op_.back());
  for (auto op = static_cast<OpId>(graph_.size()); op-- > 0;) {
    for (auto lane = static_cast<std::uint32_t>(lanes_); lane-- > 0;) {
      const FlowId flow = work_->flow_of[op * lanes_ + lane];
      if (flow != kNoFlow) flow_ops_[--first_flow_op_[flow]] = {op, lane};
    }
  }
  for (FlowId flow = 0; flow < flows_.size(); ++flow) {
    const auto ops = ops_of(flow);
    GOODPUT_CHECK(std::all_of(ops.begin(), ops.end(), [&](auto at) { return meets(at, ops.front()); }),
                  "a flow belongs to ops that meet");
  }
}

bool StepEngine::meets(OpInstance a, OpInstance b) const {
  return facts_[a.op].unit == facts_[b.op].unit && (a.lane == b.lane || facts_[a.op].sync == Sync::kReplicas);
}

std::span<const OpInstance> StepEngine::ops_of(FlowId flow) const {
  return std::span(flow_ops_).subspan(first_flow_op_[flow], first_flow_op_[flow + 1] - first_flow_op_[flow]);
}

void StepEngine::queue_disturbances(const Disturbances& disturbances) {
  running_.resize(worker_count_);
  for (auto& running : running_) running.clear();
  rates_.assign(worker_count_, 1.0);
  is_lost_.assign(worker_count_, 0);
  for (std::uint32_t i = 0; i < disturbances.rates.size(); ++i) {
    const RateChange& change = disturbances.rates[i];
    GOODPUT_CHECK(change.at >= kStart && change.worker < worker_count_,
                  "a rate change of the step's workers");
    GOODPUT_CHECK(change.rate >= 0 && std::isfinite(change.rate), "a rate is finite and not negative");
    queue_.push(change.at, Priority::kRateChange, {i, 0});
  }
  for (std::uint32_t i = 0; i < disturbances.losses.size(); ++i) {
    const WorkerLoss& loss = disturbances.losses[i];
    GOODPUT_CHECK(loss.at >= kStart && loss.worker < worker_count_, "a loss of one of the step's workers");
    queue_.push(loss.at, Priority::kLoss, {i, 0});
  }
}

void StepEngine::start_roots() {
  for (OpId op = 0; op < graph_.size(); ++op) {
    if (!graph_.predecessors(op).empty()) continue;
    for (std::uint32_t lane = 0; lane < lanes_; ++lane) become_ready({op, lane});
  }
}

// Handles the next event; rates follow once all events of a moment are over. False if nothing can happen.
bool StepEngine::advance(const Disturbances& disturbances) {
  if (shares_.is_unsettled() && (queue_.empty() || queue_.next_time() > now_)) {
    shares_.settle([this](std::span<const FlowId> connected) { reschedule_flows(connected); });
  }
  if (queue_.empty()) return false;
  const Queue::Event event = queue_.pop();
  GOODPUT_CHECK(event.time >= now_, "time runs forwards");
  now_ = event.time;
  const auto [id, lane] = event.payload;
  switch (event.priority) {
    case Priority::kFlowEnd:
      flows_[id].event = kNever;
      if (flows_[id].end == now_) end_flow(id);
      break;
    case Priority::kOpEnd:
      if (!watched_ || stop_running({id, lane}, now_)) {
        ++outcome_.events;
        end({id, lane});
      }
      break;
    case Priority::kOpStart:
      start({id, lane});
      break;
    case Priority::kFlowStart:
      if (flows_[id].phase == FlowState::Phase::kLatency) begin_flow(id);
      break;
    case Priority::kRateChange:
      change_rate(disturbances.rates[id]);
      break;
    case Priority::kLoss:
      lose(disturbances.losses[id].worker);
      break;
  }
  return true;
}

void StepEngine::finish(const Disturbances& disturbances) {
  outcome_.completed = ended_ == outcome_.ends.size();
  if (outcome_.completed) return;
  const bool stalled = watched_ && std::count(rates_.begin(), rates_.end(), 0.0) > 0;
  GOODPUT_CHECK(stalled || !disturbances.losses.empty(), describe_blocked());
  for (OpId op = 0; op < graph_.size(); ++op) {
    for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
      const std::size_t i = index({op, lane});
      if (outcome_.starts[i] != kNever && outcome_.ends[i] == kNever)
        outcome_.in_flight.push_back({op, lane});
    }
  }
}

std::string StepEngine::describe_blocked() const {
  const auto first = static_cast<std::size_t>(std::find(outcome_.ends.begin(), outcome_.ends.end(), kNever) -
                                              outcome_.ends.begin());
  return fmt::format(
      "{} of {} ops never end although no worker is lost or stalled; the first is op {} of lane {}",
      outcome_.ends.size() - ended_, outcome_.ends.size(), first / lanes_, first % lanes_);
}

// ---- The life of an op

void StepEngine::become_ready(OpInstance at) {
  const SimDuration delay = work_->delays.empty() ? SimDuration{0} : work_->delays[index(at)];
  if (delay == SimDuration{0}) {
    start(at);
  } else {
    queue_.push(now_ + delay, Priority::kOpStart, {at.op, at.lane});
  }
}

void StepEngine::start(OpInstance at) {
  SimTime& started = outcome_.starts[index(at)];
  GOODPUT_CHECK(started == kNever, "an op starts once");
  if (is_lost(at)) return;
  started = now_;
  if (facts_[at.op].sync != Sync::kNone) {
    if (--arrivals_left_[meeting_of(at)] == 0) meet(at);
  } else if (flow_of(at) != kNoFlow) {
    transfer(at);
  } else {
    compute(at);
  }
}

void StepEngine::compute(OpInstance at) {
  const SimDuration duration = work_->durations[index(at)];
  if (!watched_) return end_at(at, now_ + duration);
  const WorkerId worker = worker_of(at);
  running_[worker].push_back({at, nanoseconds(duration), now_, kNever});
  schedule_end(running_[worker].back(), rates_[worker]);
}

// All members have started, though some may be lost since.
void StepEngine::meet(OpInstance at) {
  bool complete = true;
  if (watched_) for_each_peer(at, [&](OpInstance peer) { complete = complete && !is_lost(peer); });
  if (complete) for_each_peer(at, [this](OpInstance peer) { transfer(peer); });
}

void StepEngine::transfer(OpInstance at) {
  const FlowId flow = flow_of(at);
  if (flow == kNoFlow) return end_at(at, now_ + work_->durations[index(at)]);
  if (contention_ == Contention::kNone) return end_at(at, now_ + alone_[flow]);
  if (watched_) running_[worker_of(at)].push_back({at, 0, now_, kNever});
  if (flows_[flow].phase == FlowState::Phase::kWaiting) launch_flow(flow);
}

void StepEngine::end_at(OpInstance at, SimTime time) {
  if (watched_) running_[worker_of(at)].push_back({at, 0, now_, time});
  queue_.push(time, Priority::kOpEnd, {at.op, at.lane});
}

void StepEngine::end(OpInstance at) {
  SimTime& ended = outcome_.ends[index(at)];
  GOODPUT_CHECK(ended == kNever, "an op ends once");
  ended = now_;
  outcome_.end = now_;
  ++ended_;
  for (auto next = facts_[at.op].first_successor; next < facts_[at.op + 1].first_successor; ++next) {
    const OpInstance successor{successors_[next], at.lane};
    if (--predecessors_left_[index(successor)] == 0) become_ready(successor);
  }
}

// ---- The life of a flow

void StepEngine::launch_flow(FlowId id) {
  const Flow& flow = work_->flows[id];
  FlowState& state = flows_[id];
  state.phase = FlowState::Phase::kLatency;
  if (flow.size == Bytes{0}) {
    state.end = now_ + flow.latency;
    queue_.push(state.end, Priority::kFlowEnd, {id, 0});
  } else if (flow.latency == SimDuration{0}) {
    begin_flow(id);
  } else {
    queue_.push(now_ + flow.latency, Priority::kFlowStart, {id, 0});
  }
}

void StepEngine::begin_flow(FlowId id) {
  const Flow& flow = work_->flows[id];
  flows_[id].phase = FlowState::Phase::kMoving;
  flows_[id].remaining = static_cast<double>(flow.size.value);
  shares_.start(id, route_of(flow));
}

// One event is enough for flows that share links: when the first of them ends, they all come here again.
void StepEngine::reschedule_flows(std::span<const FlowId> connected) {
  SimTime first = kNever;
  for (const FlowId id : connected) {
    update_rate(flows_[id], shares_.rate(id).value);
    first = std::min(first, flows_[id].end);
  }
  for (const FlowId id : connected) {
    FlowState& flow = flows_[id];
    if (flow.end != first || flow.event == first) continue;
    flow.event = first;
    queue_.push(first, Priority::kFlowEnd, {id, 0});
  }
}

// A flow whose rate stays is left alone: what it has moved is not rounded again.
void StepEngine::update_rate(FlowState& flow, double rate) const {
  if (flow.rate == rate) return;
  const double moved = flow.rate * to_seconds(now_ - flow.since);
  // Up to the half nanosecond by which its end was rounded.
  GOODPUT_CHECK(moved <= flow.remaining * (1 + 1e-9) + flow.rate * 1e-9, "a flow moves what it has");
  flow.remaining = std::max(flow.remaining - moved, 0.0);
  flow.since = now_;
  flow.rate = rate;
  flow.end = now_ + time_to_move(flow.remaining, rate);
}

void StepEngine::end_flow(FlowId id) {
  ++outcome_.events;
  drop_flow(id);
  for (const OpInstance at : ops_of(id)) {
    if (watched_) (void)stop_running(at, kNever);
    end(at);
  }
}

void StepEngine::drop_flow(FlowId id) {
  FlowState& flow = flows_[id];
  if (flow.phase == FlowState::Phase::kMoving) shares_.stop(id);
  flow.phase = FlowState::Phase::kOver;
  flow.end = kNever;
}

// ---- Disturbances

bool StepEngine::is_lost(OpInstance at) const {
  return watched_ && is_lost_[worker_of(at)] != 0;
}

StepEngine::Running* StepEngine::find_running(OpInstance at) {
  for (Running& running : running_[worker_of(at)]) {
    if (running.at == at) return &running;
  }
  return nullptr;
}

// False if the op does not end at `end` as things stand.
bool StepEngine::stop_running(OpInstance at, SimTime end) {
  Running* running = find_running(at);
  if (running == nullptr || running->end != end) return false;
  auto& on_worker = running_[worker_of(at)];
  *running = on_worker.back();
  on_worker.pop_back();
  return true;
}

void StepEngine::change_rate(const RateChange& change) {
  ++outcome_.events;
  const double before = std::exchange(rates_[change.worker], change.rate);
  if (is_lost_[change.worker] != 0 || before == change.rate) return;
  for (Running& running : running_[change.worker]) {
    if (!is_compute(running.at)) continue;
    const double done = before * nanoseconds(now_ - running.since);
    // Up to the half nanosecond by which its end was rounded.
    GOODPUT_CHECK(done <= running.remaining * (1 + 1e-9) + before, "an op does the work it has");
    running.remaining = std::max(running.remaining - done, 0.0);
    running.since = now_;
    schedule_end(running, change.rate);
  }
}

void StepEngine::schedule_end(Running& running, double rate) {
  running.end = kNever;
  if (rate == 0) return;
  running.end = now_ + nearest(std::chrono::duration<double, std::nano>(running.remaining / rate));
  queue_.push(running.end, Priority::kOpEnd, {running.at.op, running.at.lane});
}

void StepEngine::lose(WorkerId worker) {
  ++outcome_.events;
  if (std::exchange(is_lost_[worker], 1) != 0) return;
  for (const Running& running : running_[worker]) break_meeting(running.at);
}

// Whoever moves data with an op on a lost worker never ends.
void StepEngine::break_meeting(OpInstance at) {
  for_each_peer(at, [this](OpInstance peer) {
    if (Running* running = find_running(peer)) running->end = kNever;
    if (const FlowId flow = flow_of(peer); flow != kNoFlow) drop_flow(flow);
  });
}

}  // namespace goodput
