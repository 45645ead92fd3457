// Throughput of the TimingEngine in op-lanes per second, next to what bounds it, in one run:
//   engine/<lanes>       groups, synchronisation and all, over a recorded 8-stage step of 1458 ops
//   engine_with_spans/<lanes>  the same, looking also for the first start and the last end of all ops
//   naive/<lanes>        the plainest vector loop over the same graph: no groups, every op a row of its own
//   memory_read/<MiB>    reading doubles, the least an engine must do with values that are not in cache
// In cache up to about 128 lanes (1.5 MB of values), out of it from 32768 lanes (382 MB) on.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "sim/engine/timing.h"
#include "sim/whatif/replay_values.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/trace_generator.h"

namespace goodput::testing {
namespace {

const OpGraph& graph() {
  static const OpGraph kGraph = [] {
    TraceSpec spec;
    spec.dp = 1;
    spec.dsp_size = 2;
    spec.pp = 8;
    spec.micro_batches = 32;
    spec.steps = 1;
    return analysed(generate_trace(spec)).graph;
  }();
  return kGraph;
}

// A row of its own for every op, like a recording.
class Rows final : public OpValues {
 public:
  Rows(std::size_t ops, LaneShape shape) : stride_(shape.stride()), values_(ops * shape.stride(), 1e-3) {}
  [[nodiscard]] lanes::Values value(OpId op, std::span<double> /*scratch*/) const override {
    return {values_.data() + op * stride_, 0};
  }

 private:
  std::size_t stride_;
  std::vector<double> values_;
};

void count_op_lanes(benchmark::State& state, std::size_t lanes) {
  const auto op_lanes = static_cast<double>(graph().size() * lanes);
  state.counters["op_lanes/s"] = benchmark::Counter(op_lanes, benchmark::Counter::kIsIterationInvariantRate,
                                                    benchmark::Counter::kIs1000);
  state.counters["value_bytes/s"] = benchmark::Counter(
      8 * op_lanes, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1024);
}

// Replicas meet at the synchronised groups: 16 of them, or what divides the lanes.
LaneShape shape_of(benchmark::State& state) {
  const auto lanes = static_cast<std::size_t>(state.range(0));
  return {lanes / 16, 16};
}

void time_engine(benchmark::State& state, TimingEngine::Keep keep) {
  const LaneShape shape = shape_of(state);
  const Rows values(graph().size(), shape);
  std::vector<OpId> finish = {static_cast<OpId>(graph().size() - 1)};
  TimingEngine timing(graph(), shape, finish, keep);
  for (auto _ : state) {
    timing.propagate(values);
    benchmark::ClobberMemory();
  }
  count_op_lanes(state, shape.lanes());
}
void engine(benchmark::State& state) {
  time_engine(state, TimingEngine::Keep::kFinishTimes);
}
BENCHMARK(engine)->Arg(64)->Arg(128)->Arg(256)->Arg(1024)->Arg(32768);
void engine_with_spans(benchmark::State& state) {
  time_engine(state, TimingEngine::Keep::kStepTimes);
}
BENCHMARK(engine_with_spans)->Arg(64)->Arg(128)->Arg(256)->Arg(1024)->Arg(32768);

// Blocks of 256 lanes one after the other: how the analysis goes through a large recording.
void engine_in_blocks(benchmark::State& state) {
  constexpr std::size_t kLanes = 256;
  const auto blocks = static_cast<std::size_t>(state.range(0)) / kLanes;
  const LaneShape shape{kLanes / 16, 16};
  const std::vector<Rows> values(blocks, Rows(graph().size(), shape));
  std::vector<OpId> finish = {static_cast<OpId>(graph().size() - 1)};
  TimingEngine timing(graph(), shape, finish, TimingEngine::Keep::kFinishTimes);
  for (auto _ : state) {
    for (const Rows& block : values) timing.propagate(block);
    benchmark::ClobberMemory();
  }
  count_op_lanes(state, blocks * kLanes);
}
BENCHMARK(engine_in_blocks)->Arg(32768);

void naive(benchmark::State& state) {
  const LaneShape shape = shape_of(state);
  const std::size_t n = shape.stride();
  const std::size_t ops = graph().size();
  std::vector<double> values(ops * n, 1e-3);
  std::vector<double> ends(ops * n);
  for (auto _ : state) {
    for (OpId op = 0; op < ops; ++op) {
      double* out = ends.data() + op * n;
      const double* value = values.data() + op * n;
      const auto before = graph().predecessors(op);
      if (before.empty()) {
        std::copy_n(value, n, out);
        continue;
      }
      const double* first = ends.data() + before.front() * n;
      if (before.size() == 1) {
        for (std::size_t i = 0; i < n; ++i) out[i] = first[i] + value[i];
        continue;
      }
      const double* second = ends.data() + before[1] * n;
      for (std::size_t i = 0; i < n; ++i) out[i] = (first[i] > second[i] ? first[i] : second[i]) + value[i];
    }
    benchmark::ClobberMemory();
  }
  count_op_lanes(state, shape.lanes());
}
BENCHMARK(naive)->Arg(64)->Arg(128)->Arg(256)->Arg(1024)->Arg(32768);

void memory_read(benchmark::State& state) {
  std::vector<double> values(static_cast<std::size_t>(state.range(0)) * (1U << 20) / sizeof(double), 1.0);
  std::vector<double> highest(512, 0.0);
  for (auto _ : state) {
    for (std::size_t i = 0; i < values.size(); i += 512) lanes::raise(highest.data(), values.data() + i, 512);
    benchmark::DoNotOptimize(highest.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(values.size() * sizeof(double)));
}
BENCHMARK(memory_read)->Arg(1)->Arg(382);

}  // namespace
}  // namespace goodput::testing

BENCHMARK_MAIN();
