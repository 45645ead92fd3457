// What a failure model costs: making it and telling all events of a run; items are events.
//   hourly           12 h of 32 nodes, as many events as in the p3 recording, 344, and the 32 that join
//   exponential      1024 nodes, 30 days
//   weibull          the same at shape 0.7
//   trace            replay of a recording of 326 events, saturated to 10 nodes
//   merged           12 h of 32 hourly nodes that also run slow and are lost in racks
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "models/failure/failure_models.h"
#include "tests/support/failure_case.h"

namespace goodput {
namespace {

constexpr SimTime kTwelveHours{std::chrono::hours{12}};
constexpr SimTime kMonth{std::chrono::days{30}};

constexpr std::string_view kMarket =
    R"({"model": "hourly", "nodes": 32, "loss_probability": 0.9, "return_probability": 0.9})";

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

void run(benchmark::State& state, std::string_view failures, SimTime until,
         const FailureSources& sources = {}) {
  const std::vector<FailureConfig> configs = testing::failures_from(failures);
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
  run(state, kMarket, kTwelveHours);
}

void exponential(benchmark::State& state) {
  run(state, R"({"model": "exponential", "nodes": 1024, "mtbf_hours": 200, "repair_s": 3600})", kMonth);
}

void weibull(benchmark::State& state) {
  run(state, R"({"model": "weibull", "nodes": 1024, "mtbf_hours": 200, "repair_s": 3600, "shape": 0.7})",
      kMonth);
}

void trace(benchmark::State& state) {
  const SpotTrace recorded = recording();
  run(state, R"({"model": "trace", "file": "", "cap": {"rule": "saturate", "nodes": 10}})", SimTime::max(),
      {{&recorded, {}}});
}

void merged(benchmark::State& state) {
  const std::string slow = R"({"model": "fail_slow", "per_node_day": 2, "slowdowns": [1.5, 2, 4]})";
  const std::string racks =
      R"({"model": "bursts", "kind": "rack", "group_size": 4, "per_hour": 0.5, "outage_s": 1200})";
  run(state, fmt::format("[{}, {}, {}]", kMarket, slow, racks), kTwelveHours);
}

BENCHMARK(hourly)->Unit(benchmark::kMicrosecond);
BENCHMARK(exponential)->Unit(benchmark::kMicrosecond);
BENCHMARK(weibull)->Unit(benchmark::kMicrosecond);
BENCHMARK(trace)->Unit(benchmark::kMicrosecond);
BENCHMARK(merged)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace goodput

BENCHMARK_MAIN();
