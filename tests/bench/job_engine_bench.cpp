// The job engine with a policy that costs next to nothing: what the engine itself takes.
//   events/<nodes>   a loss or a return every 100 s, of 64 steps, for 100,000 events: events a second
//   ignored          the same, of nodes that the job does not use
//   hour, month      the same ten events in an hour, and in a month of 2.6 million steps: the same time
//   paces            a month of a new step time every step: steps a second
//   spot             12 h like those of a spot trace: 18 nodes, 344 events, a checkpoint every 10 min: runs
//   logged           the same with a log
//   interval         the best interval of checkpoints, from the exact formula
#include <benchmark/benchmark.h>

#include "models/checkpoint/save_interval.h"
#include "sim/base/errors.h"
#include "sim/base/random.h"
#include "sim/job/job_engine.h"
#include "tests/support/plain_restarts.h"
#include "tests/support/scripted_failures.h"

namespace goodput::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kMonth = hours{720};

PlainRestartTimes second_steps() {
  PlainRestartTimes plan;
  plan.step = seconds{1};
  plan.checkpoints[0] = {10, milliseconds{100}, {}};
  plan.checkpoints[1] = {100, seconds{1}, seconds{20}};
  plan.restart = seconds{10};
  plan.restore = seconds{5};
  plan.from = ResumeFrom::kMemory;
  return plan;
}

// Node `churning` is lost and comes back in turn.
NodeEvents churn(NodeId nodes, NodeId churning, SimDuration every, std::int64_t count) {
  NodeEvents events = held(nodes);
  for (std::int64_t i = 1; i <= count; ++i)
    events.push_back(i % 2 == 1 ? lost(every * i, churning) : joined(every * i, churning));
  return events;
}

struct Case {
  PlainRestartTimes plan{};
  NodeEvents events{};
  SimDuration length{};
};

JobResult run(const Case& of, JobLog* log = nullptr) {
  ScriptedFailures failures(of.events);
  PlainRestarts policy(of.plan);
  JobGoal goal;
  goal.until = SimTime{of.length};
  return run_job(goal, {}, failures, policy, log);
}

void measure_events(benchmark::State& state, const Case& of) {
  for (auto _ : state) benchmark::DoNotOptimize(run(of).steps);
  state.counters["events"] = benchmark::Counter(static_cast<double>(of.events.size()),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

void events(benchmark::State& state) {
  const auto nodes = static_cast<NodeId>(state.range(0));
  Case of{second_steps(), churn(nodes, nodes / 2, seconds{100}, 100'000), seconds{10'000'000}};
  of.plan.to_joins = Response::kAtStepEnd;
  measure_events(state, of);
}

void ignored(benchmark::State& state) {
  Case of{second_steps(), churn(64, 63, seconds{100}, 100'000), seconds{10'000'000}};
  of.plan.most_nodes = 32;
  measure_events(state, of);
}

void ten_events_in(benchmark::State& state, SimDuration length) {
  measure_events(state, {second_steps(), churn(8, 3, length / 11, 10), length});
}

// Asks for another pace every step.
class ChangingPace final : public RecoveryPolicy {
 public:
  [[nodiscard]] Response on_change(const JobView&, const NodeChange&) override {
    return Response::kInterrupt;
  }
  [[nodiscard]] Course decide(const JobState& job) override {
    nodes_.assign(job.members->nodes().begin(), job.members->nodes().end());
    Course course;
    course.nodes = nodes_;
    course.checkpoints = second_steps().checkpoints;
    return course;
  }
  [[nodiscard]] Pace pace(std::int64_t step) override { return {milliseconds{1000 + step % 7}, step + 1}; }

 private:
  std::vector<NodeId> nodes_;
};

void paces(benchmark::State& state) {
  JobGoal goal;
  goal.until = SimTime{kMonth};
  std::int64_t steps = 0;
  for (auto _ : state) {
    ScriptedFailures failures(held(8));
    ChangingPace policy;
    steps = run_job(goal, {}, failures, policy).steps;
  }
  state.counters["steps"] =
      benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsIterationInvariantRate);
}

// As many losses and returns as the p3 trace of Bamboo has: 18 nodes at first, 8 to 32 later.
NodeEvents spot_events() {
  constexpr std::int64_t kEvents = 326;
  RandomStream random(1, "spot");
  NodeEvents events = held(18);
  std::vector<bool> is_there(32, false);
  for (std::size_t node = 0; node < 18; ++node) is_there[node] = true;
  for (std::int64_t i = 1; i <= kEvents; ++i) {
    const std::size_t node = random.below(is_there.size());
    const SimDuration time = i * SimDuration{hours{12}} / (kEvents + 1);
    events.push_back(is_there[node] ? lost(time, static_cast<NodeId>(node))
                                    : joined(time, static_cast<NodeId>(node)));
    is_there[node] = !is_there[node];
  }
  return events;
}

Case spot() {
  Case of{second_steps(), spot_events(), hours{12}};
  of.plan.checkpoints[0] = {};
  of.plan.checkpoints[1] = {600, seconds{20}, {}};
  of.plan.to_joins = Response::kAtStepEnd;
  of.plan.least_nodes = 10;
  return of;
}

void spot_runs(benchmark::State& state) {
  const Case of = spot();
  for (auto _ : state) benchmark::DoNotOptimize(run(of).steps);
  state.counters["runs"] = benchmark::Counter(1, benchmark::Counter::kIsIterationInvariantRate);
}

void logged_spot_runs(benchmark::State& state) {
  const Case of = spot();
  for (auto _ : state) {
    JobLog log;
    benchmark::DoNotOptimize(run(of, &log).steps);
    benchmark::DoNotOptimize(log.spans.data());
  }
  state.counters["runs"] = benchmark::Counter(1, benchmark::Counter::kIsIterationInvariantRate);
}

void find_interval(benchmark::State& state) {
  FailureCosts costs{10'800, 60, 300};
  for (auto _ : state) {
    costs.save_s = costs.save_s < 100 ? costs.save_s + 1 : 60;
    benchmark::DoNotOptimize(optimal_interval_s(costs));
  }
}

BENCHMARK(events)->Arg(8)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(ignored)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ten_events_in, hour, hours{1})->Name("hour")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(ten_events_in, month, kMonth)->Name("month")->Unit(benchmark::kMicrosecond);
BENCHMARK(paces)->Unit(benchmark::kMillisecond);
BENCHMARK(spot_runs)->Name("spot")->Unit(benchmark::kMicrosecond);
BENCHMARK(logged_spot_runs)->Name("logged")->Unit(benchmark::kMicrosecond);
BENCHMARK(find_interval)->Name("interval");

}  // namespace
}  // namespace goodput::testing

BENCHMARK_MAIN();
