// The analysis of a job without a pipeline: 1,024 ranks x 5 steps x 1,000 ops whose groups are
// tensor-parallel neighbors (8), expert-parallel blocks (64) and all ranks.
//   exact_slowdowns            what every rank alone costs, and all else of `analyse`; 2 threads
//   exact_slowdowns_irregular  the same where the groups of no two ranks are alike
//   exact_slowdowns_ring       the same where groups are pairs along a ring: the most classes there can be
//   launch_delays              also what late launches cost, a replay per rank
//   meet/BLOCK/STEPS           1,024 lanes of STEPS steps meet in blocks of BLOCK replicas
#include <benchmark/benchmark.h>

#include <numeric>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "sim/whatif/whatif.h"
#include "tests/support/analysed_trace.h"

namespace goodput::testing {
namespace {

constexpr std::size_t kRanks = 1024;
constexpr std::size_t kSteps = 5;
constexpr std::uint32_t kOps = 1000;

std::vector<std::uint32_t> blocks_of(std::size_t size) {
  std::vector<std::uint32_t> block_of(kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    block_of[rank] = static_cast<std::uint32_t>(rank / size);
  return block_of;
}

std::vector<std::uint32_t> irregular_blocks(RandomStream& random) {
  std::vector<std::uint32_t> block_of(kRanks);
  for (std::uint32_t& block : block_of) block = static_cast<std::uint32_t>(random.below(kRanks / 8));
  return block_of;
}

struct Job {
  OpGraph graph;
  Recording recording;
};

// Compute, tensor-parallel reduction, compute, expert-parallel exchange, ...; every tenth group is of all.
// A ring: every rank is a class of its own beside any other, by its distance.
std::vector<std::uint32_t> pairs(std::uint32_t first) {
  std::vector<std::uint32_t> block_of(kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) block_of[rank] = (rank + first) % kRanks / 2;
  return block_of;
}

enum class Groups { kGrid, kIrregular, kRing };

Job make_job(Groups groups) {
  RandomStream random(1, "partition bench");
  OpGraphSpec spec{kOps, {}, {}};
  const bool is_ring = groups == Groups::kRing;
  std::vector<std::uint32_t> tensor = is_ring ? pairs(0) : blocks_of(8);
  std::vector<std::uint32_t> expert = is_ring ? pairs(1) : blocks_of(64);
  if (groups == Groups::kIrregular) {
    tensor = irregular_blocks(random);
    expert = irregular_blocks(random);
  }
  spec.partitions.push_back(ReplicaPartition::of_blocks(tensor));
  spec.partitions.push_back(ReplicaPartition::of_blocks(expert));
  for (std::uint32_t op = 0; op < kOps; ++op) {
    if (op > 0) spec.edges.emplace_back(op - 1, op);
    if (op > 4 && op % 2 == 0) spec.edges.emplace_back(op - 4, op);
    if (op % 2 == 1) spec.groups.push_back({{op}, op % 20 == 19 ? kReplicasTogether : 2 + op / 2 % 2});
  }
  Job job{value_or_throw(OpGraph::build(spec, [](std::uint32_t op) { return std::to_string(op); })), {}};
  Recording& recording = job.recording;
  recording.dp_size = kRanks;
  recording.ranks.resize(kRanks);
  recording.steps.resize(kSteps);
  std::iota(recording.ranks.begin(), recording.ranks.end(), 0);
  std::iota(recording.steps.begin(), recording.steps.end(), 0);
  for (OpId op = 0; op < kOps; ++op) {
    const bool is_group = job.graph.is_grouped(op);
    recording.ops.push_back({.type = is_group ? OpType::kParamsAllGather : OpType::kForwardCompute,
                             .seq_id = static_cast<std::int32_t>(op)});
    recording.pools.push_back(op);
  }
  recording.finish_ops = {kOps - 1};
  make_blocks(recording);
  for (StepBlock& block : recording.blocks) {
    for (std::size_t i = 0; i < block.start_s.size(); ++i) {
      block.start_s[i] = static_cast<double>(i / block.shape.stride()) * 1e-3;
      block.value_s[i] = 1e-3 + random.uniform() * 1e-4;
    }
  }
  derive_times(recording, job.graph);
  return job;
}

void analyse(benchmark::State& state, Groups groups, double threshold) {
  const Job job = make_job(groups);
  for (auto _ : state) {
    const WhatIfEngine engine(job.graph, job.recording, {.decompose_threshold = threshold, .jobs = 2});
    benchmark::DoNotOptimize(value_or_throw(engine.analyse()).worker_slowdown.size());
  }
}
void exact_slowdowns(benchmark::State& state) {
  analyse(state, Groups::kGrid, 1e9);
}
BENCHMARK(exact_slowdowns)->Unit(benchmark::kMillisecond)->UseRealTime();
void exact_slowdowns_irregular(benchmark::State& state) {
  analyse(state, Groups::kIrregular, 1e9);
}
BENCHMARK(exact_slowdowns_irregular)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);
void exact_slowdowns_ring(benchmark::State& state) {
  analyse(state, Groups::kRing, 1e9);
}
BENCHMARK(exact_slowdowns_ring)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);
void launch_delays(benchmark::State& state) {
  analyse(state, Groups::kGrid, 0);
}
BENCHMARK(launch_delays)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);

void meet_in_blocks(benchmark::State& state) {
  const auto steps = static_cast<std::size_t>(state.range(1));
  const std::size_t replicas = kRanks / steps;
  std::vector<std::uint32_t> block_of = blocks_of(static_cast<std::size_t>(state.range(0)));
  block_of.resize(replicas);
  const ReplicaPartition partition = ReplicaPartition::of_blocks(block_of);
  std::vector<double> row(kRanks, 1.0);
  for (auto _ : state) {
    synchronize(row.data(), {steps, replicas}, partition);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(meet_in_blocks)->Name("meet")->ArgsProduct({{2, 8, 64, kRanks}, {1, 16}});

}  // namespace
}  // namespace goodput::testing

BENCHMARK_MAIN();
