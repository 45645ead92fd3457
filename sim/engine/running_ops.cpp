#include "sim/engine/running_ops.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {
namespace {

double nanoseconds(SimDuration duration) {
  return static_cast<double>(duration.count());
}

}  // namespace

void RunningOps::reset(std::size_t workers) {
  running_.resize(workers);
  for (auto& running : running_) running.clear();
  rates_.assign(workers, 1.0);
  is_lost_.assign(workers, 0);
}

bool RunningOps::any_stalled() const {
  return std::count(rates_.begin(), rates_.end(), 0.0) > 0;
}

RunningOps::Running* RunningOps::find(OpInstance at, WorkerId worker) {
  for (Running& running : running_[worker]) {
    if (running.at == at) return &running;
  }
  return nullptr;
}

void RunningOps::start_compute(OpInstance at, WorkerId worker, SimDuration duration, SimTime now,
                               StepQueue& queue) {
  running_[worker].push_back({at, true, nanoseconds(duration), now, SimTime::max()});
  schedule_end(running_[worker].back(), rates_[worker], now, queue);
}

bool RunningOps::stop(OpInstance at, WorkerId worker, SimTime end) {
  Running* running = find(at, worker);
  if (running == nullptr || running->end != end) return false;
  auto& on_worker = running_[worker];
  *running = on_worker.back();
  on_worker.pop_back();
  return true;
}

void RunningOps::change_rate(const RateChange& change, SimTime now, StepQueue& queue) {
  const double before = std::exchange(rates_[change.worker], change.rate);
  if (is_lost_[change.worker] != 0 || before == change.rate) return;
  for (Running& running : running_[change.worker]) {
    if (!running.is_compute) continue;
    const double done = before * nanoseconds(now - running.since);
    // Up to the half nanosecond by which its end was rounded.
    GOODPUT_CHECK(done <= running.remaining * (1 + 1e-9) + before, "an op did more work than it has");
    running.remaining = std::max(running.remaining - done, 0.0);
    running.since = now;
    schedule_end(running, change.rate, now, queue);
  }
}

void RunningOps::schedule_end(Running& running, double rate, SimTime now, StepQueue& queue) {
  running.end = SimTime::max();
  if (rate == 0) return;
  running.end = now + nearest_ns(std::chrono::duration<double, std::nano>(running.remaining / rate));
  queue.push(running.end, StepPriority::kOpEnd, {running.at.op, running.at.lane});
}

bool RunningOps::lose(WorkerId worker) {
  return std::exchange(is_lost_[worker], 1) == 0;
}

}  // namespace goodput
