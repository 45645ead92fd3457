// What a failure model costs: making it and telling all events of a run; items are events.
//   hourly           12 h of 32 nodes, as many events as in the p3 recording, 344, and the 32 that join
//   exponential      1024 nodes, 30 days
//   weibull          the same at shape 0.7
//   trace            replay of a recording of 326 events, saturated to 10 nodes
//   merged           12 h of 32 hourly nodes that also run slow and are lost in racks
#include <benchmark/benchmark.h>

#include <string_view>

#include "models/failure/failure_models.h"

namespace goodput {
namespace {

constexpr SimTime kTwelveHours{std::chrono::hours{12}};
constexpr SimTime kMonth{std::chrono::days{30}};

HourlyFailures market() {
  HourlyFailures failures;
  failures.nodes = 32;
  failures.loss_probability = 0.9;
  failures.return_probability = 0.9;
  return failures;
}

NodeLives a_thousand() {
  NodeLives lives;
  lives.nodes = 1024;
  lives.mtbf_hours = 200;
  lives.repair_time = std::chrono::hours{1};
  return lives;
}

// 18 nodes at first; one joins every 4 minutes, and from 28 on the oldest leaves 2 minutes later.
SpotTrace recording() {
  SpotTrace trace;
  for (NodeId node = 0; node < 177; ++node) {
    trace.events.push_back(
        {SimTime{std::chrono::minutes{node < 18 ? 0 : 4 * (node - 17)}}, NodeEvent::Kind::kAdd, node, 1});
    if (node < 28) continue;
    trace.events.push_back(
        {trace.events.back().time + std::chrono::minutes{2}, NodeEvent::Kind::kRemove, node - 28, 1});
  }
  trace.end = trace.events.back().time;
  return trace;
}

void run(benchmark::State& state, const std::vector<FailureConfig>& configs, SimTime until,
         const FailureSources& sources = {}) {
  std::int64_t events = 0;
  std::uint64_t trial = 0;
  for (auto _ : state) {
    const auto model = *make_failure_model(configs, sources, 1, trial++);
    for (auto event = model->next(); event && event->time < until; event = model->next()) {
      benchmark::DoNotOptimize(event->node);
      ++events;
    }
  }
  state.SetItemsProcessed(events);
  state.counters["events"] = static_cast<double>(events) / static_cast<double>(state.iterations());
}

void hourly(benchmark::State& state) {
  run(state, {market()}, kTwelveHours);
}

void exponential(benchmark::State& state) {
  run(state, {ExponentialFailures{a_thousand()}}, kMonth);
}

void weibull(benchmark::State& state) {
  WeibullFailures failures;
  failures.lives = a_thousand();
  failures.shape = 0.7;
  run(state, {failures}, kMonth);
}

void trace(benchmark::State& state) {
  const SpotTrace recorded = recording();
  TraceFailures failures;
  failures.cap = TraceCap{TraceCap::Rule::kSaturate, 10, {}};
  run(state, {failures}, SimTime::max(), {{&recorded, {}}});
}

void merged(benchmark::State& state) {
  SlowFailures slow;
  slow.per_node_day = 2;
  slow.slowdowns = {1.5, 2, 4};
  BurstFailures racks;
  racks.group_size = 4;
  racks.per_hour = 0.5;
  racks.outage_time = std::chrono::minutes{20};
  run(state, {market(), slow, racks}, kTwelveHours);
}

BENCHMARK(hourly)->Unit(benchmark::kMicrosecond);
BENCHMARK(exponential)->Unit(benchmark::kMicrosecond);
BENCHMARK(weibull)->Unit(benchmark::kMicrosecond);
BENCHMARK(trace)->Unit(benchmark::kMicrosecond);
BENCHMARK(merged)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace goodput

BENCHMARK_MAIN();
