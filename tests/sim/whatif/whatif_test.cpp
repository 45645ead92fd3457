// The analysis of a job small enough to follow with a pencil.
#include "sim/whatif/whatif.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/analysed_trace.h"

namespace goodput {
namespace {

using testing::AnalysedTrace;

// One step, one stage, one micro-batch, two replicas; times in whole seconds.
//                   dp 0        dp 1
//   params gather   0 .. 2      1 .. 2     last start 1: a transfer of 1 each
//   forward         2 .. 5      2 .. 7     3 and 5
//   backward        5 .. 11     7 .. 17    6 and 10
//   gc, layernorm  11 .. 12    17 .. 18    1
//   reduce-scatter 12 .. 19    18 .. 19    last start 18: a transfer of 1
//   clip           19 .. 20    19 .. 20    1
//   optimizer      20 .. 22    20 .. 22    2
struct Change {
  double clip_start_dp1 = 19;
  double clip_end_dp0 = 20;
};

OpTrace two_replicas(Change change = {}) {
  OpTrace trace;
  const auto add = [&](std::int64_t dp, OpType type, double start, double end) {
    OpRow row;
    row.dp_rank = dp;
    row.rank = dp;
    row.step = 5;
    row.optype = type;
    row.start_s = start;
    row.duration_s = end - start;
    row.mc = type == OpType::kGc || type == OpType::kOptimizer ? kUnset : 0;
    row.mb_id = is_pass_compute(type) ? 0 : kUnset;
    row.gmc = row.mc;
    if (const auto problem = trace.append(row)) FAIL(*problem);
  };
  const double backward_end[] = {11, 17};
  for (const std::int64_t dp : {0, 1}) {
    const double b = backward_end[dp];
    const double f = dp == 0 ? 5 : 7;
    add(dp, OpType::kParamsAllGather, static_cast<double>(dp), 2);
    add(dp, OpType::kForwardCompute, 2, f);
    add(dp, OpType::kBackwardCompute, f, b);
    add(dp, OpType::kGc, b, b);
    add(dp, OpType::kLayernormGradsAllReduce, b, b + 1);
    add(dp, OpType::kGradsReduceScatter, b + 1, 19);
    add(dp, OpType::kOptimizerClipMainGrad, dp == 1 ? change.clip_start_dp1 : 19,
        dp == 0 ? change.clip_end_dp0 : 20);
    add(dp, OpType::kOptimizer, 20, 22);
  }
  return trace;
}

AnalysedTrace analysed_replicas(Change change = {}) {
  return testing::analysed(two_replicas(change));
}

WhatIf analyse(const AnalysedTrace& trace, double threshold = 1.03) {
  return testing::value_or_throw(WhatIfEngine(trace.graph, trace.recording, {threshold, 1}).analyse());
}

double slowdown(const Attribution& attribution, std::string_view label) {
  for (std::size_t i = 0; i < attribution.labels.size(); ++i) {
    if (attribution.labels[i] == label) return attribution.slowdown[i];
  }
  FAIL("no label " << label);
  return 0;
}

}  // namespace

TEST_CASE("recording: a transfer counts from the last start of the group, in all replicas where they meet") {
  const AnalysedTrace trace = analysed_replicas();
  const StepBlock& block = trace.recording.blocks.front();
  const auto value = [&](std::string_view op, std::size_t dp) {
    return block.row(block.value_s, trace.op(op))[block.shape.lane(0, dp)];
  };
  CHECK(value("params-all-gather_0_0", 0) == 1);
  CHECK(value("params-all-gather_0_0", 1) == 1);
  CHECK(value("grads-reduce-scatter_0_0", 0) == 1);
  CHECK(value("forward-compute_0_0", 1) == 5);  // plain: the duration
  CHECK(trace.recording.step_base_s == std::vector<double>{22});
}

TEST_CASE(
    "recording: a transfer that ends up to 10 ms before its group met is kept, beyond it counts as clock "
    "error") {
  // clip of dp 0 ends at clip_end, that of dp 1 starts at 20: the transfer of dp 0 is clip_end - 20
  const auto transfer = [](double clip_end) {
    const AnalysedTrace trace = analysed_replicas({20, clip_end});
    const StepBlock& block = trace.recording.blocks.front();
    return block.row(block.value_s, trace.op("optimizer-clip-main-grad_0_0"))[block.shape.lane(0, 0)];
  };
  CHECK(transfer(20 - 0x1p-8) == -0x1p-8);  // -3.9 ms
  CHECK(transfer(20 - 0x1p-6) == 0);        // -15.6 ms
}

TEST_CASE("recording: a launch delay counts from the last predecessor, or from the start of the step") {
  const AnalysedTrace trace = analysed_replicas();
  const StepBlock& block = trace.recording.blocks.front();
  const std::vector<double> delays = compute_launch_delays(trace.recording, block, trace.graph);
  const auto delay = [&](std::string_view op, std::size_t dp) {
    return block.row(delays, trace.op(op))[block.shape.lane(0, dp)];
  };
  CHECK(delay("params-all-gather_0_0", 0) == 0);
  CHECK(delay("params-all-gather_0_0", 1) == 1);
  CHECK(delay("forward-compute_0_0", 1) == 0);
  CHECK(delay("optimizer_0_0", 0) == 0);
}

TEST_CASE("recording: ideal values are means of passes and medians of communication") {
  const AnalysedTrace trace = analysed_replicas();
  const IdealValues ideal = compute_ideal_values(trace.recording, trace.graph);
  CHECK(ideal[trace.op("forward-compute_0_0")] == 4);
  CHECK(ideal[trace.op("backward-compute_0_0")] == 8);
  CHECK(ideal[trace.op("grads-reduce-scatter_0_0")] == 1);
}

TEST_CASE("whatif: the slowdown and its parts are those of the pencil") {
  const WhatIf result = analyse(analysed_replicas());
  // Replayed, without the late launch: gather 0..1, dp 1 until 17, reduce-scatter 18, clip 19, optimizer 21.
  CHECK(result.nodelay.span_s == std::vector<double>{21});
  // Ideal: 1 + 4 + 8 + 0 + 1 + 1 + 1 + 2
  CHECK(result.ideal_finish_s == 18);
  CHECK(result.slowdown == 21.0 / 18);
  CHECK(result.waste() == doctest::Approx(1 - 18.0 / 21).epsilon(1e-15));
  CHECK(result.launch_slowdown == 22.0 / 21);
  CHECK(result.discrepancy == doctest::Approx(1.0 / 22).epsilon(1e-14));
  // Only forwards recorded: dp 1 one second later than ideal. Only backwards: two.
  CHECK(slowdown(result.blocking.by_optype, "forward-compute") == 19.0 / 18);
  CHECK(slowdown(result.blocking.by_optype, "backward-compute") == 20.0 / 18);
  // Only dp 0 recorded: faster than the ideal replica it has to wait for. Only dp 1: as slow as the job.
  CHECK(slowdown(result.blocking.by_dp_rank, "0") == 1);
  CHECK(slowdown(result.blocking.by_dp_rank, "1") == 21.0 / 18);
  CHECK(result.worker_slowdown == std::vector<double>{1, 21.0 / 18});
  // One of two workers is the slowest 3 %: dp 1, which explains all.
  CHECK(result.slowest_workers == std::vector<std::size_t>{1});
  CHECK(result.slowest_workers_share.without_s == 18);
  CHECK(result.slowest_workers_share.recovered() == 1);
  CHECK(result.last_stage_share.caused() == 1);
}

TEST_CASE("whatif: late launches are attributed from the threshold on, the first op of a stage on its own") {
  const AnalysedTrace trace = analysed_replicas();
  CHECK_FALSE(analyse(trace, 1.05).launch);
  const WhatIf result = analyse(trace, 1.04);  // launch slowdown 22/21 = 1.0476
  REQUIRE(result.launch);
  CHECK(slowdown(result.launch->by_dp_rank, "0") == 1);
  CHECK(slowdown(result.launch->by_dp_rank, "1") == 22.0 / 21);
  CHECK(slowdown(result.launch->by_optype, "params-all-gather") == 22.0 / 21);
  CHECK(slowdown(result.launch->by_optype, "first-op") == 1);
  CHECK(slowdown(result.launch->by_stage, "0") == 22.0 / 21);
}

TEST_CASE("whatif: a job whose ops take no time is refused") {
  OpTrace trace = two_replicas();
  std::fill(trace.duration_s.begin(), trace.duration_s.end(), 0.0);
  std::fill(trace.start_s.begin(), trace.start_s.end(), 0.0);
  const AnalysedTrace idle = testing::analysed(trace);
  const auto result = WhatIfEngine(idle.graph, idle.recording, {}).analyse();
  REQUIRE_FALSE(result);
  CHECK(result.error().what ==
        "the ideal step takes no time; check that durations are in seconds and not all zero");
}

TEST_CASE("whatif: of nothing lost there is no share") {
  Share share{10, 10, 10, 10};
  CHECK_FALSE(share.recovered());
  CHECK_FALSE(share.caused());
  share.recorded_s = 12;
  CHECK(share.recovered() == 1);
}

}  // namespace goodput
