// Small jobs whose every second is derived by hand: steps of 10 s, and what happened.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "sim/job/job_engine.h"
#include "tests/support/function_policy.h"
#include "tests/support/plain_restarts.h"
#include "tests/support/scripted_failures.h"

namespace goodput::testing {

using std::chrono::seconds;

constexpr SimTime at(SimDuration time) {
  return SimTime{time};
}
inline JobGoal until(SimDuration time) {
  JobGoal goal;
  goal.until = at(time);
  return goal;
}
inline JobGoal steps(std::int64_t count) {
  JobGoal goal;
  goal.steps = count;
  return goal;
}
inline JobGoal samples(std::int64_t count) {
  JobGoal goal;
  goal.samples = count;
  return goal;
}

// Productive time over wall-clock time; 0 for a run of no time.
inline double goodput_of(const JobResult& result) {
  if (result.end == SimTime{}) return 0;
  return to_seconds(result.ledger.time[index(TimeBucket::kProductive)]) / result.wall_s();
}

// Productive time over the time in which the job did not wait for nodes; 0 of none.
inline double running_goodput(const JobResult& result) {
  const double running = result.wall_s() - to_seconds(result.waited);
  return running > 0 ? to_seconds(result.ledger.time[index(TimeBucket::kProductive)]) / running : 0;
}

inline PlainRestartTimes ten_second_steps() {
  PlainRestartTimes plan;
  plan.step = seconds{10};
  return plan;
}
// ... and a checkpoint in storage after every `interval`-th.
inline PlainRestartTimes saving_every(std::int64_t interval, SimDuration stall, SimDuration lag = {}) {
  PlainRestartTimes plan = ten_second_steps();
  plan.checkpoints[1] = {interval, stall, lag};
  return plan;
}

inline JobResult run(const PlainRestartTimes& plan, const JobGoal& goal, const NodeEvents& events,
                     JobLog* log = nullptr) {
  ScriptedFailures failures(events);
  PlainRestarts policy(plan);
  return run_job(goal, {}, failures, policy, log);
}
inline JobResult run(FunctionPolicy& policy, const JobGoal& goal, const NodeEvents& events,
                     JobLog* log = nullptr) {
  ScriptedFailures failures(events);
  return run_job(goal, {}, failures, policy, log);
}

inline std::int64_t in(const JobResult& result, TimeBucket bucket) {
  const SimDuration time = result.ledger.time[index(bucket)];
  CHECK(time % seconds{1} == SimDuration{});
  return time / seconds{1};
}
inline std::int64_t node_time_in(const JobResult& result, TimeBucket bucket) {
  const NodeTime time = result.ledger.node_time[index(bucket)];
  CHECK(static_cast<std::int64_t>(time % 1'000'000'000) == 0);
  return static_cast<std::int64_t>(time / 1'000'000'000);
}

inline constexpr TimeBucket kProductive = TimeBucket::kProductive;
inline constexpr TimeBucket kSave = TimeBucket::kCheckpointSave;
inline constexpr TimeBucket kWasted = TimeBucket::kWastedProgress;
inline constexpr TimeBucket kRecovery = TimeBucket::kInfrastructureRecovery;
inline constexpr TimeBucket kIdle = TimeBucket::kIdleNode;

// Ten-second steps from here on, decided upon again whenever nodes change; remembers what it was told.
struct Witness {
  FunctionPolicy policy{};
  std::vector<JobState> states{};

  Witness() {
    policy.paces = [](std::int64_t) { return Pace{seconds{10}}; };
    policy.decides = [this](const JobState& job) {
      states.push_back(job);
      return policy.train(job);
    };
  }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  std::vector<std::int64_t> decided_at() const {
    std::vector<std::int64_t> times;
    for (const JobState& state : states) times.push_back(state.now.time_since_epoch() / seconds{1});
    return times;
  }
};
using Times = std::vector<std::int64_t>;

}  // namespace goodput::testing
