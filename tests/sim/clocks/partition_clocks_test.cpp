// Clocks of ranks that meet in blocks: tensor-parallel neighbors, and the ranks across these.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sim/base/statistics.h"
#include "sim/clocks/align_clocks.h"
#include "sim/clocks/clock_network.h"

namespace goodput {
namespace {

constexpr std::size_t kMeshRanks = 8;
constexpr std::size_t kMeshRounds = 6;  // of a step: a collective of each kind
constexpr std::size_t kMeshSteps = 5;
constexpr double kJitterS = 10e-6;  // by which the ranks of a block may end apart
constexpr double kFoundS = 50e-6;

// Which block of its kind a rank is in.
using Blocks = std::vector<std::uint32_t>;
const Blocks kTensorBlocks = {0, 0, 1, 1, 2, 2, 3, 3};
const Blocks kDataBlocks = {0, 1, 0, 1, 0, 1, 0, 1};

struct MeshJob {
  OpGraph graph;
  Recording recording;
};

OpGraphSpec mesh_spec(const std::vector<Blocks>& kinds) {
  OpGraphSpec spec;
  spec.op_count = 2 * kMeshRounds;
  const std::size_t first = spec.partitions.size();
  for (const Blocks& kind : kinds) spec.partitions.push_back(ReplicaPartition::of_blocks(kind));
  for (std::uint32_t op = 0; op + 1 < spec.op_count; ++op) spec.edges.emplace_back(op, op + 1);
  for (std::uint32_t round = 0; round < kMeshRounds; ++round) {
    OpGraphSpec::Group group;
    group.members = {2 * round + 1};
    group.partition = static_cast<PartitionId>(first + round % kinds.size());
    spec.groups.push_back(group);
  }
  return spec;
}

// By op of the spec: work, a collective, and so on.
std::vector<OpId> add_mesh_ops(MeshJob& job) {
  Recording& recording = job.recording;
  const OpType collective =
      recording.types.add({"all-reduce", "all-reduce", OpClass::kCollective, IdealStatistic::kMedian});
  std::vector<OpId> id_of(job.graph.size());
  for (OpId id = 0; id < job.graph.size(); ++id) {
    const std::uint32_t op = job.graph.caller_index()[id];
    id_of[op] = id;
    TraceOp traced;
    traced.type = op % 2 == 1 ? collective : OpType::kForwardCompute;
    traced.seq_id = static_cast<std::int32_t>(op);
    recording.ops.push_back(traced);
    recording.pools.push_back(op);
  }
  recording.finish_ops = {id_of.back()};
  return id_of;
}

// Work, a collective over one kind of blocks, and so on; `kinds` in turn. Every clock is off by `offset_s`.
MeshJob mesh_job(const std::vector<Blocks>& kinds, const std::vector<double>& offset_s) {
  auto graph = OpGraph::build(mesh_spec(kinds), [](std::uint32_t op) { return std::to_string(op); });
  REQUIRE(graph);
  MeshJob job{*std::move(graph), {}};
  Recording& recording = job.recording;
  recording.naming = WorkerGrid::Naming::kByRank;
  recording.dp_size = kMeshRanks;
  for (std::size_t rank = 0; rank < kMeshRanks; ++rank)
    recording.ranks.push_back(static_cast<std::int32_t>(rank));
  for (std::size_t step = 0; step < kMeshSteps; ++step)
    recording.steps.push_back(static_cast<std::int64_t>(step));
  const std::vector<OpId> id_of = add_mesh_ops(job);
  make_blocks(recording);

  std::uint64_t state = 7;
  const auto random = [&state] {  // in [0, 1)
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  std::vector<double> now(kMeshRanks, 0);
  for (StepBlock& block : recording.blocks) {
    for (std::size_t step = 0; step < block.shape.steps; ++step) {
      for (std::uint32_t round = 0; round < kMeshRounds; ++round) {
        const Blocks& kind = kinds[round % kinds.size()];
        std::map<std::uint32_t, double> latest;
        std::vector<double> begin = now;
        for (std::size_t rank = 0; rank < kMeshRanks; ++rank) {
          now[rank] += 1e-3 + 4e-3 * random();
          latest[kind[rank]] = std::max(latest[kind[rank]], now[rank]);
        }
        for (std::size_t rank = 0; rank < kMeshRanks; ++rank) {
          const std::size_t lane = block.shape.lane(step, rank);
          const std::size_t work = id_of[2 * round] * block.shape.stride() + lane;
          const std::size_t met = id_of[2 * round + 1] * block.shape.stride() + lane;
          block.start_s[work] = begin[rank] + offset_s[rank];
          block.value_s[work] = now[rank] - begin[rank];
          block.start_s[met] = now[rank] + offset_s[rank];
          const double end = latest[kind[rank]] + 0.5e-3 + kJitterS * random();
          block.value_s[met] = end - now[rank];
          now[rank] = end;
        }
      }
    }
  }
  derive_times(recording, job.graph);
  return job;
}

const std::vector<double> kWrongClocks = {0.003, -0.0024, 0.0015, 0.002, -0.0021, 0, 0.0027, -0.0012};

TEST_CASE("partition clocks: offsets of milliseconds are found within 50 us, over two kinds of blocks") {
  const MeshJob job = mesh_job({kTensorBlocks, kDataBlocks}, kWrongClocks);
  const ClockEstimate estimate = estimate_clocks(job.recording, job.graph);
  REQUIRE(estimate.clocks.size() == kMeshRanks);
  std::vector<double> apart;  // from the truth: one number for all, the reference
  for (std::size_t rank = 0; rank < kMeshRanks; ++rank) {
    CHECK(estimate.clock_of_worker[rank] == rank);
    apart.push_back(estimate.clocks[rank].offset_s - kWrongClocks[rank]);
  }
  std::vector<double> sorted = apart;
  const double reference = take_median(sorted);
  for (const double own : apart) CHECK(std::abs(own - reference) < kFoundS);
}

TEST_CASE("partition clocks: blocks that nothing connects have references of their own") {
  // Tensor-parallel neighbors only: their difference is known, that of other pairs is not.
  const MeshJob job = mesh_job({kTensorBlocks}, kWrongClocks);
  const ClockEstimate estimate = estimate_clocks(job.recording, job.graph);
  for (std::size_t rank = 0; rank < kMeshRanks; rank += 2) {
    const double found = estimate.clocks[rank + 1].offset_s - estimate.clocks[rank].offset_s;
    CHECK(std::abs(found - (kWrongClocks[rank + 1] - kWrongClocks[rank])) < kFoundS);
  }
}

TEST_CASE("partition clocks: every block of every partition is a meeting point, with a pair per member") {
  const MeshJob job = mesh_job({kTensorBlocks, kDataBlocks}, kWrongClocks);
  const ClockNetwork network = measure_clocks(job.recording, job.graph);
  CHECK(network.names.size() == kMeshRanks);
  CHECK(network.names[3] == "rank 3");
  CHECK(network.pairs.size() == 2 * kMeshRanks);
  std::vector<std::uint32_t> met;
  for (const ClockPair& pair : network.pairs) {
    CHECK(pair.worker_b == kMeetingPoint);
    CHECK(pair.a == pair.worker_a);
    CHECK(pair.b >= kMeshRanks);
    CHECK(pair.b < network.nodes);
    met.push_back(pair.b);
  }
  std::ranges::sort(met);
  met.erase(std::unique(met.begin(), met.end()), met.end());
  CHECK(met.size() == 4 + 2);
}

TEST_CASE("partition clocks: ranks of a job by rank have clocks of their own on a host, too") {
  MeshJob job = mesh_job({kTensorBlocks, kDataBlocks}, kWrongClocks);
  job.recording.places.push_back({"host", std::vector<std::string>(kMeshRanks, "node1")});
  CHECK(measure_clocks(job.recording, job.graph).names.size() == kMeshRanks);
  job.recording.naming = WorkerGrid::Naming::kByPlace;
  CHECK(measure_clocks(job.recording, job.graph).names == std::vector<std::string>{"node1"});
}

TEST_CASE("partition clocks: aligned times have the transfers of right clocks") {
  const std::vector<double> right(kMeshRanks, 0);
  MeshJob wrong = mesh_job({kTensorBlocks, kDataBlocks}, kWrongClocks);
  const MeshJob truth = mesh_job({kTensorBlocks, kDataBlocks}, right);
  std::vector<std::string> notes;
  CHECK(align_clocks(wrong.recording, wrong.graph, ClockAlignment::kOn, notes).are_aligned);
  CHECK(notes == std::vector<std::string>{});  // small offsets are usual here
  for (OpId op = 0; op < truth.recording.ops.size(); ++op) {
    const StepBlock& block = truth.recording.blocks.front();
    const auto expected = block.row(block.value_s, op);
    const auto aligned = wrong.recording.blocks.front().row(wrong.recording.blocks.front().value_s, op);
    for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane)
      CHECK(std::abs(aligned[lane] - expected[lane]) < 2 * kFoundS);
  }
}

}  // namespace
}  // namespace goodput
