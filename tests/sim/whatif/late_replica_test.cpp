// release-too: vectorised loops, exact to the last bit.
// Late launches of one replica, from the few replicas that can matter, against a replay of all replicas.
#include "sim/whatif/late_replica.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/recording/op_labels.h"
#include "sim/whatif/replay_values.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/trace_generator.h"

namespace goodput {
namespace {

using testing::AnalysedTrace;

// By lane of the block: one replay of all replicas for each that is late.
std::vector<double> one_by_one(const AnalysedTrace& trace, const StepBlock& block,
                               const std::vector<double>& delays_s) {
  std::vector<double> finishes;
  for (const OpLabel& label : dp_labels(trace.recording)) {
    TimingEngine engine(trace.graph, block.shape, trace.recording.finish_ops,
                        TimingEngine::Keep::kFinishTimes);
    engine.propagate(DelayedReplay(block, delays_s, {{label.box}}, trace.graph.size()));
    const std::vector<double> of_replica = engine.finish_times();
    finishes.insert(finishes.end(), of_replica.begin(), of_replica.end());
  }
  return finishes;
}

}  // namespace

TEST_CASE("late replicas: the rivals alone give what all replicas give, on random traces") {
  std::size_t compared = 0;
  std::size_t equal = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    testing::TraceSpec spec = testing::random_spec(seed);
    if (!spec.data_parallel_ops) continue;
    spec.dp = static_cast<int>(2 + seed % 17);
    spec.launch_delay_s = seed % 3 == 0 ? 20e-6 : 5e-3;
    spec.slow_dp_rank = spec.slow_dp_rank == testing::kAllReplicas ? spec.slow_dp_rank : 0;
    CAPTURE(testing::to_string(spec));
    const AnalysedTrace trace = testing::analysed(testing::generate_trace(spec));
    for (const StepBlock& block : trace.recording.blocks) {
      const std::vector<double> delays = compute_launch_delays(trace.recording, block, trace.graph);
      const std::vector<double> want = one_by_one(trace, block, delays);
      const std::vector<double> got =
          late_replica_finishes(trace.graph, block, delays, trace.recording.finish_ops);
      REQUIRE(got.size() == want.size());
      for (std::size_t lane = 0; lane < want.size(); ++lane) {
        ++compared;
        equal += got[lane] == want[lane] ? 1 : 0;
        REQUIRE(std::abs(got[lane] - want[lane]) <= 1e-13 * want[lane]);
      }
    }
  }
  CHECK(compared > 2000);
  // The others differ in the order of a sum.
  CHECK(equal >= compared * 999 / 1000);
  MESSAGE(equal << " of " << compared << " finishes are equal to the last bit");
}

TEST_CASE("late replicas: the rivals of a step are as many with 32 times the replicas") {
  const auto most_rivals = [](int dp) {
    testing::TraceSpec spec;
    spec.dp = dp;
    spec.pp = 2;
    spec.steps = 1;
    const AnalysedTrace trace = testing::analysed(testing::generate_trace(spec));
    const StepBlock& block = trace.recording.blocks.front();
    const auto rivals = find_rivals(trace.graph, block, trace.recording.finish_ops);
    CHECK(std::is_sorted(rivals.front().begin(), rivals.front().end()));
    return rivals.front().size();
  };
  // Two stages with a gather and a reduce-scatter each, and clip: six places to start from and to end at,
  // two rivals for each pair in order.
  constexpr std::size_t kMost = 2 * 6 * 7 / 2;
  CHECK(most_rivals(64) <= kMost);
  CHECK(most_rivals(2048) <= kMost);
}

TEST_CASE("late replicas: few replicas are replayed one by one") {
  testing::TraceSpec spec;
  const AnalysedTrace trace = testing::analysed(testing::generate_trace(spec));
  CHECK(!has_rivals_worth_finding(trace.graph, 128));
  CHECK(has_rivals_worth_finding(trace.graph, 129));
}

TEST_CASE("late replicas: there is no shortcut in a job with groups of some replicas, used or not") {
  OpGraphSpec spec{2, {{0, 1}}, {{{1}, kReplicasTogether}}};
  const auto name = [](std::uint32_t op) { return std::to_string(op); };
  CHECK(has_rivals_worth_finding(*OpGraph::build(spec, name), 200));
  std::vector<std::uint32_t> halves(200, 0);
  std::fill_n(halves.begin(), 100, 1U);
  spec.partitions.push_back(ReplicaPartition::of_blocks(halves));
  const OpGraph unused = *OpGraph::build(spec, name);
  CHECK_FALSE(has_rivals_worth_finding(unused, 200));
  const StepBlock block{0, {1, 200}, {}, {}, {}};
  CHECK_THROWS_AS((void)find_rivals(unused, block, {}), InternalError);
}

TEST_CASE("workers: a set of many is a box a stage") {
  testing::TraceSpec spec;
  spec.dp = 3;
  spec.pp = 2;
  const AnalysedTrace trace = testing::analysed(testing::generate_trace(spec));
  const std::vector<std::size_t> workers = {4, 1, 0};  // dp 2 stage 0, dp 0 stage 1, dp 0 stage 0
  const InstanceSet set = set_of_workers(trace.recording, workers);
  REQUIRE(set.boxes.size() == 2);
  CHECK(set.boxes[0].dp_ranks == std::vector<char>{1, 0, 1});
  CHECK(set.boxes[1].dp_ranks == std::vector<char>{1, 0, 0});
  CHECK(set.boxes[1].ops == box_of_worker(trace.recording, 0, 1).ops);
}

}  // namespace goodput
