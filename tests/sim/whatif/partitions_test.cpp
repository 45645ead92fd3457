// release-too: vectorized loops, exact to the last bit.
// Jobs whose groups meet in blocks of replicas, with op types and pools of their own, against the slow
// reference and against a replay of all replicas for each one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>

#include "sim/base/float32.h"
#include "sim/base/random.h"
#include "sim/recording/op_labels.h"
#include "sim/whatif/replay_values.h"
#include "sim/whatif/whatif.h"
#include "tests/reference/reference_replay.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/production_answers.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_graph.h"

namespace goodput {
namespace {

constexpr double kRelative = 1e-9;

struct PartitionedJob {
  OpGraph graph;
  Recording recording;
  std::vector<std::vector<double>> durations_s = {};  // by block, in the layout of its rows
};

void add_types(OpTypeTable& types) {
  types.add({"all-reduce (tp)", "tensor-parallel", OpClass::kCollective, IdealStatistic::kMedian});
  types.add({"all-to-all (ep)", "expert-parallel", OpClass::kCollective, IdealStatistic::kMedian});
  types.add({"data-loader", "data-loader", OpClass::kHost, IdealStatistic::kMean});
}

// Ops of any types, their own ones too; some recordings in float32; ends before the group has started.
PartitionedJob random_partitioned_job(std::uint64_t seed) {
  RandomStream random(seed, "partitioned job");
  const std::size_t replicas = 1 + random.below(8);
  PartitionedJob job{testing::random_graph(seed, {.max_ops = 20,
                                                  .max_levels = 8,
                                                  .max_group = 3,
                                                  .grouped = 0.8,
                                                  .replicas = 0.8,
                                                  .lanes = replicas}),
                     {}};
  Recording& recording = job.recording;
  add_types(recording.types);
  recording.float32_times = random.uniform() < 0.5;
  recording.dp_size = static_cast<std::int32_t>(replicas);
  recording.pp_size = static_cast<std::int32_t>(1 + random.below(3));
  recording.ranks.resize(replicas * static_cast<std::size_t>(recording.pp_size));
  std::iota(recording.ranks.begin(), recording.ranks.end(), 0);
  recording.steps.resize(1 + random.below(3));
  std::iota(recording.steps.begin(), recording.steps.end(), 100);
  for (OpId op = 0; op < job.graph.size(); ++op) {
    const auto type = static_cast<OpType>(random.below(recording.types.size()));
    recording.ops.push_back(
        {.type = type,
         .seq_id = static_cast<std::int32_t>(op),
         .stage = static_cast<std::int16_t>(random.below(static_cast<std::uint64_t>(recording.pp_size)))});
    recording.pools.push_back(static_cast<std::uint32_t>(2 * index_of(type) + random.below(2)));
    if (random.uniform() < 0.2) recording.finish_ops.push_back(op);
  }
  if (recording.finish_ops.empty()) recording.finish_ops.push_back(0);
  make_blocks(recording);
  for (StepBlock& block : recording.blocks) {
    for (OpId op = 0; op < job.graph.size(); ++op) {
      for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) {
        const std::size_t at = op * block.shape.stride() + lane;
        block.start_s[at] = round_to_float32(random.uniform(0, 10));
        block.value_s[at] = round_to_float32(random.uniform(0.1, 10));
      }
    }
    job.durations_s.push_back(block.value_s);
  }
  derive_times(recording, job.graph);
  return job;
}

// The reference's job, from the recorded starts and ends alone.
reference::Analysis reference_of(const PartitionedJob& job) {
  const Recording& recording = job.recording;
  reference::Job result;
  result.dp = recording.dp_size;
  result.pp = recording.pp_size;
  result.float32 = recording.float32_times;
  for (std::size_t worker = 0; worker < recording.ranks.size(); ++worker) {
    const auto [dp, stage] = recording.worker(worker);
    result.workers[recording.ranks[worker]] = {static_cast<int>(dp), static_cast<int>(stage)};
  }
  for (std::size_t i = 0; i < recording.blocks.size(); ++i) {
    const StepBlock& block = recording.blocks[i];
    for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) {
      const std::int64_t step = recording.steps[block.first_step + lane % block.shape.steps];
      for (OpId op = 0; op < recording.ops.size(); ++op) {
        const TraceOp& at = recording.ops[op];
        const double start = block.row(block.start_s, op)[lane];
        const double duration = block.row(job.durations_s[i], op)[lane];
        const double end = end_of(start, duration, recording.float32_times);
        const bool finishes = std::ranges::count(recording.finish_ops, op) > 0;
        const bool has_mean = recording.types[at.type].ideal == IdealStatistic::kMean;
        result.steps[step][static_cast<int>(lane / block.shape.steps)].emplace(
            recording.name_of(op),
            reference::Op{at.type, at.stage, at.seq_id, at.mc, at.mb_id, at.gmc, 0, start, end, duration,
                          std::to_string(recording.pools[op]), has_mean, finishes});
      }
    }
  }
  reference::Analysis analysis =
      reference::measure(std::move(result), testing::dependencies_of(job.graph, recording));
  reference::pool_ideal_values(analysis);
  return analysis;
}

bool is_near(double a, double b) {
  return std::abs(a - b) <= kRelative * std::max({1.0, std::abs(a), std::abs(b)});
}

}  // namespace

TEST_CASE("partitions: replays and exact slowdowns agree with the reference on random jobs" *
          doctest::test_suite("slow")) {
  std::size_t with_blocks = 0;
  for (std::uint64_t seed = 1; seed <= testing::cases(2000); ++seed) {
    CAPTURE(seed);
    const PartitionedJob job = random_partitioned_job(seed);
    const Recording& recording = job.recording;
    const reference::Analysis want = reference_of(job);
    const reference::StepTimes ideal = reference::simulate(want, {.recorded = &reference::none});
    const Result<WhatIf> result = WhatIfEngine(job.graph, recording, {.decompose_threshold = 0}).analyse();
    const double ideal_s = reference::mean(ideal.to_finish);
    REQUIRE(bool(result) == (ideal_s > 0));
    if (!result) continue;
    with_blocks += job.graph.partitions().size() > 2 ? 1 : 0;
    REQUIRE(is_near(result->ideal_finish_s, ideal_s));
    const reference::StepTimes nodelay = reference::simulate(want, {.recorded = &reference::all});
    for (std::size_t i = 0; i < recording.steps.size(); ++i) {
      REQUIRE(is_near(result->nodelay.span_s[i], nodelay.span.at(recording.steps[i])));
      REQUIRE(is_near(result->nodelay.finish_s[i], nodelay.to_finish.at(recording.steps[i])));
    }
    for (const auto& of_worker : reference::exact_worker_slowdowns(want)) {
      const std::pair<int, int> worker = of_worker.first;
      CAPTURE(worker.first);
      CAPTURE(worker.second);
      const std::size_t at = static_cast<std::size_t>(worker.first * recording.pp_size + worker.second);
      REQUIRE(is_near(result->worker_slowdown[at], of_worker.second));
    }
    for (const IdealOfType& of_type : result->ideal_by_type) {
      std::set<double> values;
      for (OpId op = 0; op < recording.ops.size(); ++op) {
        const bool is_one = recording.types[recording.ops[op].type].name == of_type.name;
        if (is_one) values.insert(result->ideal_values[op]);
      }
      REQUIRE(of_type.value_s.has_value() == (values.size() == 1));
      if (of_type.value_s) REQUIRE(*of_type.value_s == *values.begin());
    }
    REQUIRE(result->launch);
    const double nodelay_s = reference::mean(nodelay.to_finish);
    for (int dp = 0; dp < recording.dp_size; ++dp) {
      const auto is_of_dp = [&](const reference::OpView& op) { return op.dp_rank == dp; };
      const auto at = static_cast<std::size_t>(dp);
      const double alone = reference::mean(reference::simulate(want, {.recorded = is_of_dp}).to_finish);
      REQUIRE(is_near(result->blocking.by_dp_rank.slowdown[at], alone / ideal_s));
      const double late = reference::mean(
          reference::simulate(want, {.recorded = &reference::all, .delayed = is_of_dp}).to_finish);
      REQUIRE(is_near(result->launch->by_dp_rank.slowdown[at], late / nodelay_s));
    }
  }
  CHECK(with_blocks > testing::cases(2000) / 4);
}

TEST_CASE("partitions: transfers, launch delays and every time agree with the reference on random jobs") {
  for (std::uint64_t seed = 1; seed <= testing::cases(2000); ++seed) {
    CAPTURE(seed);
    const PartitionedJob job = random_partitioned_job(seed);
    const Recording& recording = job.recording;
    const reference::Analysis want = reference_of(job);
    const IdealValues ideal = compute_ideal_values(recording, job.graph);
    for (const StepBlock& block : recording.blocks) {
      const std::vector<double> delays = compute_launch_delays(recording, block, job.graph);
      TimingEngine nodelay(job.graph, block.shape, {}, TimingEngine::Keep::kAllTimes);
      nodelay.propagate(MixedReplay(block, ideal, {{InstanceBox::all(recording)}}, Side::kInside));
      for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) {
        const std::int64_t step = recording.steps[block.first_step + lane % block.shape.steps];
        const auto dp = static_cast<int>(lane / block.shape.steps);
        const reference::Spans spans = reference::simulate_step(want, step, {.recorded = &reference::all});
        for (OpId op = 0; op < job.graph.size(); ++op) {
          const std::string name = recording.name_of(op);
          const reference::Op& expected = want.job.steps.at(step).at(dp).at(name);
          const double value = job.graph.is_grouped(op) ? expected.transfer : expected.duration;
          REQUIRE(block.row(block.value_s, op)[lane] == value);
          REQUIRE(block.row(delays, op)[lane] == expected.launch_delay);
          REQUIRE(is_near(ideal[op], want.ideal.at(expected.pool)));
          REQUIRE(nodelay.starts(op)[lane] == spans.at({dp, name}).start);
          REQUIRE(nodelay.ends(op)[lane] == spans.at({dp, name}).end);
        }
      }
    }
  }
}

TEST_CASE("partitions: many replicas give what replaying all of them for each gives") {
  // More lanes than a row is padded to, several blocks, more classes than are replayed at once, and as many
  // replicas as would take the shortcut for late launches; chains are the most classes there can be.
  constexpr std::uint32_t kReplicas = 150;
  for (const bool is_chain : {false, true}) {
    CAPTURE(is_chain);
    RandomStream random(7, "many replicas");
    OpGraphSpec spec{9, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 8}}, {}};
    std::vector<std::uint32_t> one(kReplicas);
    std::vector<std::uint32_t> other(kReplicas);
    for (std::uint32_t i = 0; i < kReplicas; ++i) {
      one[i] = is_chain ? i / 2 : static_cast<std::uint32_t>(random.below(40));
      other[i] = is_chain ? (i + 1) / 2 : i / 10;
    }
    spec.partitions.push_back(ReplicaPartition::of_blocks(one));
    spec.partitions.push_back(ReplicaPartition::of_blocks(other));
    for (std::uint32_t op = 1; op < 9; op += 2) spec.groups.push_back({{op}, op % 4 == 1 ? 2U : 3U});
    PartitionedJob job{*OpGraph::build(spec, [](std::uint32_t op) { return std::to_string(op); }), {}};
    Recording& recording = job.recording;
    recording.dp_size = kReplicas;
    recording.ranks.resize(kReplicas);
    recording.steps = {1, 2, 3};
    recording.finish_ops = {8};
    for (OpId op = 0; op < 9; ++op) {
      recording.ops.push_back({.type = OpType::kForwardCompute, .seq_id = static_cast<std::int32_t>(op)});
      recording.pools.push_back(op);
    }
    make_blocks(recording);
    for (StepBlock& block : recording.blocks) {
      for (OpId op = 0; op < 9; ++op) {
        for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) {
          block.start_s[op * block.shape.stride() + lane] = 2.0 * op + random.uniform();
          block.value_s[op * block.shape.stride() + lane] = 1 + random.uniform();
        }
      }
    }
    derive_times(recording, job.graph);
    const WhatIfEngine engine(job.graph, recording, {.decompose_threshold = 0, .jobs = 2, .by_step = true});
    const WhatIf result = testing::value_or_throw(engine.analyse());
    for (std::size_t replica = 0; replica < kReplicas; ++replica) {
      CAPTURE(replica);
      const StepTimes alone = engine.simulate({{box_of_worker(recording, replica, 0)}});
      for (std::size_t step = 0; step < 3; ++step) {
        REQUIRE(result.worker_step_slowdown[step][replica] == alone.finish_s[step] / result.ideal_finish_s);
      }
    }
    REQUIRE(result.launch);
    for (const std::size_t replica : {std::size_t{0}, std::size_t{77}, std::size_t{149}}) {
      double late_s = 0;
      for (const StepBlock& block : recording.blocks) {
        TimingEngine timing(job.graph, block.shape, recording.finish_ops, TimingEngine::Keep::kFinishTimes);
        const std::vector<double> delays = compute_launch_delays(recording, block, job.graph);
        const InstanceSet set{{box_of_worker(recording, replica, 0)}};
        timing.propagate(DelayedReplay(block, delays, set, job.graph.size()));
        for (const double finish_s : timing.finish_times()) late_s += finish_s / 3;
      }
      const double nodelay_s =
          std::accumulate(result.nodelay.finish_s.begin(), result.nodelay.finish_s.end(), 0.0) / 3;
      CHECK(is_near(result.launch->by_dp_rank.slowdown[replica], late_s / nodelay_s));
    }
  }
}

}  // namespace goodput
