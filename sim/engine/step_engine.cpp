#include "sim/engine/step_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {
namespace {

constexpr SimTime kNever = StepOutcome::kNever;
constexpr SimTime kStart{};

template <typename Durations>
bool any_negative(const Durations& durations) {
  return std::any_of(durations.begin(), durations.end(), [](SimDuration d) { return d < SimDuration{0}; });
}

}  // namespace

StepEngine::StepEngine(const OpGraph& graph, LaneShape shape, Workers workers)
    : topology_(graph, shape.lanes(), std::move(workers)) {
  GOODPUT_CHECK(shape.steps == 1 && shape.lanes() > 0,
                "a step engine must have exactly one step and at least one lane");
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
  is_watched_ = !disturbances.rates.empty() || !disturbances.losses.empty();
  now_ = kStart;
  ended_ = 0;
  queue_.clear();
  check_work();
  reset_progress();
  flows_.reset(work, topology_);
  if (is_watched_) queue_disturbances(disturbances);
}

void StepEngine::check_work() const {
  const std::size_t instances = topology_.instances();
  const StepWork& work = *work_;
  GOODPUT_CHECK(work.durations.size() == instances, "every op must have a duration in every lane");
  GOODPUT_CHECK(work.delays.empty() || work.delays.size() == instances, "all ops or none must have a delay");
  GOODPUT_CHECK(work.flow_of.empty() || work.flow_of.size() == instances,
                "all ops or none must have a flow id");
  GOODPUT_CHECK(!any_negative(work.durations) && !any_negative(work.delays),
                "time must not be negative or run backward");
}

void StepEngine::reset_progress() {
  const std::size_t instances = topology_.instances();
  outcome_.completed = false;
  outcome_.end = kStart;
  outcome_.starts.assign(instances, kNever);
  outcome_.ends.assign(instances, kNever);
  outcome_.in_flight.clear();
  outcome_.events = 0;
  predecessors_left_.resize(instances);
  const std::size_t lanes = topology_.lanes();
  for (OpId op = 0; op < topology_.graph().size(); ++op) {
    const auto count = static_cast<std::uint32_t>(topology_.graph().predecessors(op).size());
    std::fill_n(predecessors_left_.begin() + static_cast<std::ptrdiff_t>(op * lanes), lanes, count);
  }
  const auto sizes = topology_.meeting_sizes();
  arrivals_left_.assign(sizes.begin(), sizes.end());
}

void StepEngine::queue_disturbances(const Disturbances& disturbances) {
  const std::size_t workers = topology_.worker_count();
  running_.reset(workers);
  for (std::uint32_t i = 0; i < disturbances.rates.size(); ++i) {
    const RateChange& change = disturbances.rates[i];
    GOODPUT_CHECK(change.at >= kStart && change.worker < workers,
                  "a rate change must concern a worker of the step and must not be in the past");
    GOODPUT_CHECK(change.rate >= 0 && std::isfinite(change.rate),
                  "a rate must be finite and must not be negative");
    queue_.push(change.at, StepPriority::kRateChange, {i, 0});
  }
  for (std::uint32_t i = 0; i < disturbances.losses.size(); ++i) {
    const WorkerLoss& loss = disturbances.losses[i];
    GOODPUT_CHECK(loss.at >= kStart && loss.worker < workers,
                  "a loss must concern a worker of the step and must not be in the past");
    queue_.push(loss.at, StepPriority::kLoss, {i, 0});
  }
}

void StepEngine::start_roots() {
  for (OpId op = 0; op < topology_.graph().size(); ++op) {
    if (!topology_.graph().predecessors(op).empty()) continue;
    for (std::uint32_t lane = 0; lane < topology_.lanes(); ++lane) become_ready({op, lane});
  }
}

// Handles the next event; rates follow once all events of a moment are over. False if nothing can happen.
bool StepEngine::advance(const Disturbances& disturbances) {
  if (flows_.is_unsettled() && (queue_.empty() || queue_.next_time() > now_)) flows_.settle(now_, queue_);
  if (queue_.empty()) return false;
  const StepQueue::Event event = queue_.pop();
  GOODPUT_CHECK(event.time >= now_, "time must not be negative or run backward");
  now_ = event.time;
  const auto [id, lane] = event.payload;
  switch (event.priority) {
    case StepPriority::kFlowEnd:
      if (flows_.take_end(id, now_)) end_flow(id);
      break;
    case StepPriority::kOpEnd:
      if (!is_watched_ || running_.stop({id, lane}, topology_.worker_of({id, lane}), now_)) {
        ++outcome_.events;
        end({id, lane});
      }
      break;
    case StepPriority::kOpStart:
      start({id, lane});
      break;
    case StepPriority::kFlowStart:
      flows_.end_latency(id);
      break;
    case StepPriority::kRateChange:
      ++outcome_.events;
      running_.change_rate(disturbances.rates[id], now_, queue_);
      break;
    case StepPriority::kLoss:
      ++outcome_.events;
      lose(disturbances.losses[id].worker);
      break;
  }
  return true;
}

void StepEngine::finish(const Disturbances& disturbances) {
  outcome_.completed = ended_ == outcome_.ends.size();
  if (outcome_.completed) return;
  const bool stalled = is_watched_ && running_.any_stalled();
  GOODPUT_CHECK(stalled || !disturbances.losses.empty(), describe_blocked());
  for (OpId op = 0; op < topology_.graph().size(); ++op) {
    for (std::uint32_t lane = 0; lane < topology_.lanes(); ++lane) {
      const std::size_t i = topology_.index({op, lane});
      if (outcome_.starts[i] != kNever && outcome_.ends[i] == kNever)
        outcome_.in_flight.push_back({op, lane});
    }
  }
}

std::string StepEngine::describe_blocked() const {
  const auto first = static_cast<std::size_t>(std::find(outcome_.ends.begin(), outcome_.ends.end(), kNever) -
                                              outcome_.ends.begin());
  return fmt::format(
      "{} of {} ops never end although no worker is lost or stalled; the first is op {} in lane {}",
      outcome_.ends.size() - ended_, outcome_.ends.size(), first / topology_.lanes(),
      first % topology_.lanes());
}

// ---- The life of an op

void StepEngine::become_ready(OpInstance at) {
  const SimDuration delay = work_->delays.empty() ? SimDuration{0} : work_->delays[topology_.index(at)];
  if (delay == SimDuration{0}) {
    start(at);
  } else {
    queue_.push(now_ + delay, StepPriority::kOpStart, {at.op, at.lane});
  }
}

void StepEngine::start(OpInstance at) {
  SimTime& started = outcome_.starts[topology_.index(at)];
  GOODPUT_CHECK(started == kNever, "an op was started twice");
  if (is_lost(at)) return;
  started = now_;
  if (topology_.is_grouped(at.op)) {
    if (--arrivals_left_[topology_.meeting_of(at)] == 0) meet(at);
  } else if (flow_of(at) != kNoFlow) {
    transfer(at);
  } else {
    compute(at);
  }
}

void StepEngine::compute(OpInstance at) {
  const SimDuration duration = work_->durations[topology_.index(at)];
  if (!is_watched_) return end_at(at, now_ + duration);
  running_.start_compute(at, topology_.worker_of(at), duration, now_, queue_);
}

// All members have started, though some may be lost since.
void StepEngine::meet(OpInstance at) {
  bool complete = true;
  if (is_watched_) {
    topology_.for_each_peer(at, [&](OpInstance peer) { complete = complete && !is_lost(peer); });
  }
  if (complete) topology_.for_each_peer(at, [this](OpInstance peer) { transfer(peer); });
}

void StepEngine::transfer(OpInstance at) {
  const FlowId flow = flow_of(at);
  if (flow == kNoFlow) return end_at(at, now_ + work_->durations[topology_.index(at)]);
  if (contention_ == Contention::kNone) return end_at(at, now_ + flows_.alone(flow));
  if (is_watched_) running_.start_transfer(at, topology_.worker_of(at), now_, kNever);
  flows_.launch(flow, now_, queue_);
}

void StepEngine::end_at(OpInstance at, SimTime time) {
  if (is_watched_) running_.start_transfer(at, topology_.worker_of(at), now_, time);
  queue_.push(time, StepPriority::kOpEnd, {at.op, at.lane});
}

void StepEngine::end(OpInstance at) {
  SimTime& ended = outcome_.ends[topology_.index(at)];
  GOODPUT_CHECK(ended == kNever, "an op was ended twice");
  ended = now_;
  outcome_.end = now_;
  ++ended_;
  for (const OpId next : topology_.successors(at.op)) {
    const OpInstance successor{next, at.lane};
    if (--predecessors_left_[topology_.index(successor)] == 0) become_ready(successor);
  }
}

void StepEngine::end_flow(FlowId id) {
  ++outcome_.events;
  flows_.drop(id);
  for (const OpInstance at : flows_.ops_of(id)) {
    if (is_watched_) (void)running_.stop(at, topology_.worker_of(at), kNever);
    end(at);
  }
}

// ---- Losses

void StepEngine::lose(WorkerId worker) {
  if (!running_.lose(worker)) return;
  for (const RunningOps::Running& running : running_.on(worker)) break_meeting(running.at);
}

// Whoever moves data with an op on a lost worker never ends.
void StepEngine::break_meeting(OpInstance at) {
  topology_.for_each_peer(at, [this](OpInstance peer) {
    if (auto* running = running_.find(peer, topology_.worker_of(peer))) running->end = kNever;
    if (const FlowId flow = flow_of(peer); flow != kNoFlow) flows_.drop(flow);
  });
}

}  // namespace goodput
