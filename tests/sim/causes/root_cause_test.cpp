// Which cause is named for which injected straggler, and the figures that say so.
#include "sim/whatif/root_cause.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/whatif/root_cause_passes.h"
#include "sim/whatif/root_cause_transfers.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/synthetic_case.h"
#include "tests/support/trace_generator.h"

namespace goodput {
namespace {

using testing::AnalysedTrace;

std::vector<RootCause> find_causes(OpTrace rows) {
  const AnalysedTrace trace = testing::analysed(std::move(rows));
  const WhatIf result = testing::value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse());
  return find_root_causes(trace.graph, trace.recording, result, {});
}

std::vector<std::string> likely_names(const std::vector<RootCause>& causes) {
  std::vector<std::string> names;
  for (const RootCause& cause : causes) {
    if (cause.likely) names.emplace_back(cause.name);
  }
  return names;
}

// Four replicas of four stages, ten steps of eight micro-batches: forward passes of 20 ms, messages of 0.4
// ms.
testing::SyntheticCase job(std::vector<Straggler> stragglers) {
  return {{.dp = 4, .pp = 4, .micro_batches = 8}, std::move(stragglers), {10, 0.01}, 1};
}

std::vector<RootCause> causes_of(std::vector<Straggler> stragglers) {
  return find_causes(job(std::move(stragglers)).synthesize(Truth::kSlowdown).rows);
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("root cause: one slow worker is a worker fault, a slow last stage a matter of partition") {
  testing::TraceSpec spec;
  spec.dp = 4;
  spec.pp = 4;
  spec.micro_batches = 8;
  spec.steps = 3;
  const auto likely = [](const testing::TraceSpec& given) {
    return likely_names(find_causes(testing::generate_trace(given)));
  };
  testing::TraceSpec slow_worker = spec;
  slow_worker.slow_dp_rank = 2;
  slow_worker.slow_stage = 1;
  slow_worker.slow_worker_factor = 2;
  CHECK(likely(slow_worker) == std::vector<std::string>{"worker-fault"});
  testing::TraceSpec slow_stage = spec;
  slow_stage.slow_last_stage_factor = 1.5;
  CHECK(likely(slow_stage) == std::vector<std::string>{"stage-partition"});
  testing::TraceSpec slow_middle = slow_worker;
  slow_middle.slow_dp_rank = testing::kAllReplicas;
  CHECK(likely(slow_middle) == std::vector<std::string>{"stage-partition"});
  CHECK(likely(spec).empty());
}

TEST_CASE("root cause: forward and backward times that rise and fall together are found") {
  // One stage of one replica, three micro-batches with forwards 1, 2, 3 and backwards 2, 4, 6: correlation 1,
  // deviation of the forwards sqrt(2/3), mean 2.
  OpTrace trace;
  double now = 0;
  const auto add = [&](OpType type, std::int64_t seq_id, double duration) {
    OpRow row;
    row.optype = type;
    row.seq_id = seq_id;
    row.start_s = now;
    row.duration_s = duration;
    row.mc = 0;
    row.mb_id = seq_id;
    row.gmc = 0;
    now += duration;
    if (const auto problem = trace.append(row)) FAIL(*problem);
  };
  for (const int mb : {0, 1, 2}) add(OpType::kForwardCompute, mb, mb + 1);
  for (const int mb : {0, 1, 2}) add(OpType::kBackwardCompute, mb, 2 * (mb + 1));
  add(OpType::kGc, 0, 0);
  add(OpType::kLayernormGradsAllReduce, 0, 1);
  add(OpType::kOptimizerClipMainGrad, 0, 1);
  add(OpType::kOptimizer, 0, 1);
  const AnalysedTrace analysed = testing::analysed(trace);
  const std::vector<PassPair> pairs = pair_passes(analysed.recording);
  const auto passes = correlate_passes(analysed.recording, pairs, 0, {});
  REQUIRE(passes);
  CHECK(passes->correlation == doctest::Approx(1).epsilon(1e-12));
  CHECK(passes->variation == doctest::Approx(std::sqrt(2.0 / 3) / 2).epsilon(1e-12));
  CHECK(passes->pairs == 3);
  CHECK_FALSE(correlate_passes(analysed.recording, pairs, 7, {}));
}

TEST_CASE("root cause: all six criteria are reported, in order, whatever is likely") {
  const std::vector<RootCause> causes = causes_of({});
  REQUIRE(causes.size() == std::size(kStragglerKinds));
  for (std::size_t i = 0; i < causes.size(); ++i) {
    CHECK(causes[i].name == kStragglerKinds[i]);
    CHECK_FALSE(causes[i].likely);
    CHECK(causes[i].threshold > 0);
    CHECK_FALSE(causes[i].criterion.empty());
    CHECK_FALSE(causes[i].evidence.empty());
  }
}

TEST_CASE("root cause: a slow worker is named even when it costs less than half of the loss") {
  // Lengths of sequences lose most; a worker that is slow from step 6 on stands out all the same.
  const auto causes = causes_of({SequenceLengths{1500, 1.5, 0.8}, SlowWorker{2, 1, 1.5, 6, 0}});
  CHECK(likely_names(causes) == Names{"worker-fault", "sequence-length"});
  CHECK(*causes[0].value < 0.5);
  CHECK(causes[0].worker == 2 * 4 + 1);
  CHECK(causes[0].evidence.starts_with("the backward passes of dp 2 stage 1 (rank 12) take 1.2"));
}

TEST_CASE("root cause: a worker that is slow in some steps is no matter of sequence lengths") {
  CHECK(likely_names(causes_of({SlowWorker{1, 2, 2, 4, 7}})) == Names{"worker-fault"});
}

TEST_CASE("root cause: an uneven partition is found beside a slow worker on another stage") {
  const auto causes = causes_of({StagePartition{3, 1.8}, SlowWorker{1, 2, 1.7}});
  CHECK(likely_names(causes) == Names{"worker-fault", "stage-partition"});
  CHECK(causes[0].worker == 1 * 4 + 2);
  CHECK(causes[1].stage == 3);
}

TEST_CASE(
    "root cause: with one replica a slow worker and a large stage cannot be told apart, and it says so") {
  testing::SyntheticCase one = job({SlowWorker{0, 2, 1.5}});
  one.shape.dp = 1;
  const auto causes = find_causes(one.synthesize(Truth::kSlowdown).rows);
  CHECK(likely_names(causes) == Names{"worker-fault", "stage-partition"});
  CHECK(causes[0].evidence.ends_with("; with one replica a slow worker looks like a large stage"));
  CHECK(causes[0].worker == 2);
  // Slow in some steps only: no partition does that.
  one.stragglers = {SlowWorker{0, 2, 2, 7, 0}};
  CHECK(likely_names(find_causes(one.synthesize(Truth::kSlowdown).rows)) == Names{"worker-fault"});
}

TEST_CASE("root cause: replicas whose batches differ by chance are no faulty workers") {
  // One stage: only the worker's mean says who is slow, and the means differ with the lengths drawn.
  testing::SyntheticCase single = job({SequenceLengths{500, 1.8, 0.8}});
  single.shape.pp = 1;
  CHECK(likely_names(find_causes(single.synthesize(Truth::kSlowdown).rows)) == Names{"sequence-length"});
}

TEST_CASE(
    "root cause: pauses are counted where forward passes stand still and their backward passes do not") {
  // 16 workers, once in 5 of 10 steps: 2 each.
  const auto causes = causes_of({GcPauses{5, from_seconds(0.3)}});
  CHECK(likely_names(causes) == Names{"gc-pauses"});
  CHECK(causes[3].evidence ==
        "32 long forward passes on 16 of 16 workers in 10 of 10 steps, 0.302 s too long in the mean");
  CHECK(*causes[3].value > 0.1);
}

TEST_CASE("root cause: one long pass is no garbage collection") {
  OpTrace rows = job({}).synthesize(Truth::kSlowdown).rows;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows.optype[row] != OpType::kForwardCompute || rows.step[row] != 3 || rows.dp_rank[row] != 1)
      continue;
    if (rows.stage[row] == 3 && rows.seq_id[row] == 7) rows.duration_s[row] += 0.5;
  }
  const auto causes = find_causes(rows);
  CHECK(causes[3].evidence.starts_with("1 long forward passes on 1 of 16 workers in 1 of 10 steps"));
  CHECK_FALSE(causes[3].likely);
}

TEST_CASE("root cause: without micro-batches nothing is said of lengths and pauses") {
  OpTrace rows = job({}).synthesize(Truth::kSlowdown).rows;
  std::fill(rows.mb_id.begin(), rows.mb_id.end(), kUnset);
  const auto causes = find_causes(rows);
  CHECK_FALSE(causes[2].value);
  CHECK(causes[2].evidence == "no micro-batches to compare, or passes that never vary");
  CHECK_FALSE(causes[3].value);
  CHECK(causes[3].evidence == "no micro-batches to compare");
}

TEST_CASE("root cause: late launches are named when they cost 3 % or more") {
  const auto causes = causes_of({LaunchDelays{LaunchDelays::Ops::kFirst, from_seconds(0.2)}});
  CHECK(likely_names(causes) == Names{"launch-delay"});
}

TEST_CASE("root cause: slow transfers are put down to the worker they have in common") {
  const auto causes = causes_of({NicFlap{2, 1, 0.1, 100}});
  CHECK(likely_names(causes) == Names{"communication-flap"});
  CHECK(causes[5].worker == 2 * 4 + 1);
  CHECK(causes[5].stage == 1);
  CHECK(causes[5].evidence.find("transfers of dp 2 stage 1 (rank 12) took up to 10") != std::string::npos);
}

TEST_CASE("root cause: slow collectives say which stage, not which replica") {
  testing::SyntheticCase flat = job({NicFlap{2, 0, 0.1, 100}});
  flat.shape.pp = 1;
  const auto causes = find_causes(flat.synthesize(Truth::kSlowdown).rows);
  CHECK(likely_names(causes) == Names{"communication-flap"});
  CHECK_FALSE(causes[5].worker);
  CHECK(causes[5].evidence.find(" transfers of stage 0 between its replicas took ") != std::string::npos);
}

TEST_CASE("root cause: transfers that are slow everywhere are no flap") {
  std::vector<Straggler> everywhere;
  for (const std::int32_t dp : {0, 1, 2, 3}) {
    for (const std::int32_t stage : {0, 1, 2, 3}) everywhere.push_back(NicFlap{dp, stage, 0.05, 60});
  }
  const auto causes = causes_of(everywhere);
  CHECK(*causes[5].value > 0.01);
  CHECK_FALSE(causes[5].likely);
}

TEST_CASE("root cause: a slow link is named with both its ends") {
  // Half a NIC: only messages between stages 1 and 2 of replica 3, in two steps.
  OpTrace rows = job({}).synthesize(Truth::kSlowdown).rows;
  const auto is_of_link = [&](std::size_t row) {
    const bool down = (rows.optype[row] == OpType::kForwardSend && rows.stage[row] == 1) ||
                      (rows.optype[row] == OpType::kForwardRecv && rows.stage[row] == 2);
    return down && rows.dp_rank[row] == 3 && rows.seq_id[row] == 4 &&
           (rows.step[row] == 2 || rows.step[row] == 5);
  };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (is_of_link(row)) rows.duration_s[row] += 0.2;
  }
  const auto causes = find_causes(rows);
  CHECK(causes[5].evidence.starts_with(
      "2 of 340 transfers of dp 3 stage 1 (rank 14), all to or from stage 2, took up to"));
}

TEST_CASE("root cause: the number of threads changes nothing") {
  const AnalysedTrace trace = testing::analysed(
      job({GcPauses{5, from_seconds(0.2)}, NicFlap{1, 1, 0.1, 80}}).synthesize(Truth::kSlowdown).rows);
  const WhatIf result = testing::value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse());
  const auto one = find_root_causes(trace.graph, trace.recording, result, {1.03, 1});
  const auto four = find_root_causes(trace.graph, trace.recording, result, {1.03, 4});
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].value == four[i].value);
    CHECK(one[i].evidence == four[i].evidence);
  }
}

}  // namespace goodput
