// Where the time of `goodput whatif` goes, on a generated trace of 64 dp x 8 pp x 32 micro-batches x 20 steps
// (1.87 M ops), on one core. `whole` is the sum of the parts in one go; read it as a ratio to `read_parquet`,
// what any analysis of the file has to spend.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>
#include <string>

#include "models/megatron/megatron_rules.h"
#include "sim/clocks/clocks.h"
#include "sim/whatif/whatif.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/trace_generator.h"
#include "traces/op/op_trace_format.h"
#include "traces/op/op_trace_reader.h"

namespace goodput::testing {
namespace {

// A Parquet file that lives as long as this object.
class GeneratedFile {
 public:
  GeneratedFile() : path_(std::filesystem::temp_directory_path() / fmt_name()) {
    TraceSpec spec;
    spec.dp = 64;
    spec.pp = 8;
    spec.micro_batches = 32;
    spec.steps = 20;
    spec.slow_worker_factor = 1.2;
    value_or_throw(op_trace_format_parquet().write(generate_trace(spec), path_.string(), path_.string()));
  }
  ~GeneratedFile() { std::filesystem::remove(path_); }
  GeneratedFile(const GeneratedFile&) = delete;
  GeneratedFile& operator=(const GeneratedFile&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  static std::string fmt_name() { return "goodput_whatif_bench_" + std::to_string(getpid()) + ".parquet"; }
  std::filesystem::path path_;
};

const std::string& trace_path() {
  static const GeneratedFile kFile;
  static const std::string kPath = kFile.path();
  return kPath;
}

OpTrace read() {
  return value_or_throw(read_op_trace({trace_path()}, {})).trace;
}

void read_parquet(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(read().size());
}
BENCHMARK(read_parquet)->Unit(benchmark::kMillisecond);

void index_and_graph(benchmark::State& state) {
  const OpTrace trace = read();
  for (auto _ : state) {
    const TraceIndex index = value_or_throw(index_trace(trace));
    benchmark::DoNotOptimize(value_or_throw(megatron::build_graph(index.lane)).size());
  }
}
BENCHMARK(index_and_graph)->Unit(benchmark::kMillisecond);

void analyse(benchmark::State& state) {
  const AnalysedTrace trace = analysed(read());
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse()).slowdown);
  }
}
BENCHMARK(analyse)->Unit(benchmark::kMillisecond);

void clocks(benchmark::State& state) {
  const AnalysedTrace trace = analysed(read());
  for (auto _ : state) benchmark::DoNotOptimize(estimate_clocks(trace.recording, trace.graph).largest_s);
}
BENCHMARK(clocks)->Unit(benchmark::kMillisecond);

void whole(benchmark::State& state) {
  for (auto _ : state) {
    const AnalysedTrace trace = analysed(read());
    benchmark::DoNotOptimize(
        value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse()).slowdown);
  }
}
BENCHMARK(whole)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace goodput::testing

BENCHMARK_MAIN();
