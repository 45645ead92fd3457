// Traces small enough to work out by hand what the analysis says about them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/base/json.h"
#include "tests/reference/reference_whatif.h"

namespace goodput::reference {
namespace {

struct Place {
  int dp_rank = 0;
  int stage = 0;
  std::int64_t step = 1;
};

// All ops here belong to micro-batch 0 on chunk 0, and there is one of each type a worker.
OpRow op(Place place, OpType type, double start, double end, int stages = 1) {
  const bool compute = is_pass_compute(type);
  return {
      .dp_rank = place.dp_rank,
      .stage = place.stage,
      .rank = place.dp_rank * stages + place.stage,
      .step = place.step,
      .optype = type,
      .start_s = start,
      .duration_s = end - start,
      .seq_id = 0,
      .mc = compute || type == OpType::kParamsAllGather || type == OpType::kGradsReduceScatter ? 0 : kUnset,
      .mb_id = compute ? 0 : kUnset,
      .gmc = compute ? place.stage : kUnset};
}

OpTrace trace_of(const std::vector<OpRow>& rows) {
  OpTrace trace;
  for (const OpRow& row : rows) REQUIRE_FALSE(trace.append(row).has_value());
  return trace;
}

// One worker alone.
//   step 1: F 0-2, B 2-6, gc 6, L 6-7, E 7-8, clip 8.5-9.5 (launched half a second late), optimizer 9.5-10
//   step 2: F 0-4, B 4-8, gc 8, L 8-9, E 9-10, clip 10-11, optimizer 11-12
std::vector<OpRow> one_worker() {
  const Place one{.step = 1};
  const Place two{.step = 2};
  return {op(one, OpType::kForwardCompute, 0, 2),
          op(one, OpType::kBackwardCompute, 2, 6),
          op(one, OpType::kGc, 6, 6),
          op(one, OpType::kLayernormGradsAllReduce, 6, 7),
          op(one, OpType::kEmbeddingGradsAllReduce, 7, 8),
          op(one, OpType::kOptimizerClipMainGrad, 8.5, 9.5),
          op(one, OpType::kOptimizer, 9.5, 10),
          op(two, OpType::kForwardCompute, 0, 4),
          op(two, OpType::kBackwardCompute, 4, 8),
          op(two, OpType::kGc, 8, 8),
          op(two, OpType::kLayernormGradsAllReduce, 8, 9),
          op(two, OpType::kEmbeddingGradsAllReduce, 9, 10),
          op(two, OpType::kOptimizerClipMainGrad, 10, 11),
          op(two, OpType::kOptimizer, 11, 12)};
}

// Two dp ranks, the second of which gathers half a second late and takes 6 s for its forward pass instead of
// 2 s. The reduce-scatters, the clip and the optimizer are common to both.
std::vector<OpRow> two_dp_ranks() {
  std::vector<OpRow> rows;
  for (const int dp : {0, 1}) {
    const Place at{.dp_rank = dp};
    const double f = dp == 0 ? 3.5 : 7.5;  // end of the forward pass
    rows.insert(rows.end(),
                {op(at, OpType::kParamsAllGather, dp * 0.5, 1.5), op(at, OpType::kForwardCompute, 1.5, f),
                 op(at, OpType::kBackwardCompute, f, f + 4), op(at, OpType::kGc, f + 4, f + 4),
                 op(at, OpType::kLayernormGradsAllReduce, f + 4, f + 5),
                 op(at, OpType::kEmbeddingGradsAllReduce, f + 5, f + 6),
                 op(at, OpType::kGradsReduceScatter, f + 6, 14.5),
                 op(at, OpType::kOptimizerClipMainGrad, 14.5, 15.5), op(at, OpType::kOptimizer, 15.5, 16.5)});
  }
  return rows;
}

// Two stages, one micro-batch; `skew` is what the clock of the second stage is late by.
//   stage 0: F 0-1, forward-send 1-2.5, backward-recv 1-9.25, B 9.25-11.25, gc, L 11.25-12.25, E 12.25-13.25
//   stage 1: forward-recv 0-2, F 2-4, B 4-8, backward-send 8-9, gc, L 8-9, E 9-13.25
std::vector<OpRow> two_stages(double skew = 0) {
  const Place a{.stage = 0};
  const Place b{.stage = 1};
  std::vector<OpRow> rows{op(a, OpType::kForwardCompute, 0, 1, 2),
                          op(a, OpType::kForwardSend, 1, 2.5, 2),
                          op(a, OpType::kBackwardRecv, 1, 9.25, 2),
                          op(a, OpType::kBackwardCompute, 9.25, 11.25, 2),
                          op(a, OpType::kGc, 11.25, 11.25, 2),
                          op(a, OpType::kLayernormGradsAllReduce, 11.25, 12.25, 2),
                          op(a, OpType::kEmbeddingGradsAllReduce, 12.25, 13.25, 2),
                          op(b, OpType::kForwardRecv, 0, 2, 2),
                          op(b, OpType::kForwardCompute, 2, 4, 2),
                          op(b, OpType::kBackwardCompute, 4, 8, 2),
                          op(b, OpType::kBackwardSend, 8, 9, 2),
                          op(b, OpType::kGc, 8, 8, 2),
                          op(b, OpType::kLayernormGradsAllReduce, 8, 9, 2),
                          op(b, OpType::kEmbeddingGradsAllReduce, 9, 13.25, 2)};
  for (const Place& place : {a, b}) {
    rows.push_back(op(place, OpType::kOptimizerClipMainGrad, 13.25, 14.25, 2));
    rows.push_back(op(place, OpType::kOptimizer, 14.25, 15.25, 2));
  }
  for (OpRow& row : rows) row.start_s -= row.stage == 1 ? skew : 0.0;
  return rows;
}

OpTrace without(std::vector<OpRow> rows, OpType type) {
  std::erase_if(rows, [type](const OpRow& row) { return row.optype == type; });
  return trace_of(rows);
}

}  // namespace

TEST_CASE("reference by hand: one worker, means over two steps") {
  const OpTrace trace = trace_of(one_worker());
  const auto times = op_times(trace, {});
  CHECK(std::isnan(times.at({1, 0, "forward-compute_0_0"}).transfer));
  CHECK(std::isnan(times.at({1, 0, "layernorm-grads-all-reduce_0_0"}).transfer));
  CHECK(times.at({1, 0, "embedding-grads-all-reduce_0_0"}).transfer == 1);
  CHECK(times.at({1, 0, "optimizer-clip-main-grad_0_0"}).launch_delay == 0.5);
  CHECK(times.at({1, 0, "optimizer-clip-main-grad_0_0"}).nodelay_start == 8);
  // Ideal: F (2 + 4) / 2, B 4, gc 0, L 1, E 1, clip 1, optimizer (0.5 + 1) / 2, so the clip starts at 3 + 4 +
  // 0 + 1 + 1.
  CHECK(times.at({2, 0, "optimizer-clip-main-grad_0_0"}).ideal_start == 9);
  CHECK(times.at({2, 0, "optimizer_0_0"}).ideal_end == 10.75);

  const Json result = compat_result(trace, {});
  CHECK(result["step_t_base"] == Json{{"1", 10.0}, {"2", 12.0}});
  CHECK(result["step_t_nodelay"] == Json{{"1", 9.5}, {"2", 12.0}});
  CHECK(result["step_t_noblk"] == Json{{"1", 10.75}, {"2", 10.75}});
  CHECK(result["launch_slowdown"] == 11 / 10.75);
  CHECK(result["blocking_slowdown"] == 1.0);
  CHECK(result["blocking_step_slowdown"]["1"] == 9.5 / 10.75);
  CHECK(result["blocking_decompose_by_stage"].is_null());
  CHECK(result["mw"].is_null());
  CHECK(result["ms"]["tori"] == 10.75);  // equal to the ideal: there is nothing to attribute
  CHECK(result["ms"]["Ms"].is_null());
}

TEST_CASE("reference by hand: a selection of steps has its own ideal") {
  const Json result = compat_result(trace_of(one_worker()), {.steps = {2}});
  CHECK(result["step_t_noblk"] == Json{{"2", 12.0}});
  CHECK(result["blocking_slowdown"] == 1.0);
}

TEST_CASE("reference by hand: a dp rank with a slow forward pass holds up the other") {
  const OpTrace trace = trace_of(two_dp_ranks());
  const auto times = op_times(trace, {});
  CHECK(times.at({1, 0, "params-all-gather_0_0"}).transfer == 1);  // 1.5 - max(0, 0.5)
  CHECK(times.at({1, 1, "params-all-gather_0_0"}).launch_delay == 0.5);
  CHECK(times.at({1, 0, "grads-reduce-scatter_0_0"}).transfer == 1);  // 14.5 - max(9.5, 13.5)
  CHECK(times.at({1, 0, "grads-reduce-scatter_0_0"}).nodelay_end == 14);

  // Ideal: gather 1, F (2 + 6) / 2, B 4, L, E, scatter, clip and optimizer 1 each: 14. Without delay: 16.
  // Rank 0 as recorded next to an ideal rank 1: the latter decides, 14. Rank 1 as recorded: 16.
  const Json result = compat_result(trace, {});
  CHECK(result["blocking_slowdown"] == 16.0 / 14);
  CHECK(result["blocking_decompose_by_dp_rank"] == Json{{"0", 1.0}, {"1", 16.0 / 14}});
  CHECK(result["blocking_decompose_by_stage"] == Json{{"0", 16.0 / 14}});
  CHECK(result["blocking_decompose_by_optype"]["forward-compute"] == 16.0 / 14);
  CHECK(exact_worker_slowdowns(trace, {}) ==
        std::map<std::pair<int, int>, double>{{{0, 0}, 1}, {{1, 0}, 16.0 / 14}});
  // Worker 1 is the slowest 3 %. Everything as recorded but it: rank 0 has F 2, rank 1 F 4, so 14.
  CHECK(result["mw"] == Json{{"trem", 14.0},
                             {"tadd", 16.0},
                             {"tori", 16.0},
                             {"tideal", 14.0},
                             {"rem", 1.0},
                             {"add", 1.0},
                             {"Mw", 1.0}});
  CHECK(step_time_with(trace, {}, [](const OpView& op) { return op.type == OpType::kForwardCompute; }) == 16);
}

TEST_CASE("reference by hand: a late launch is attributed to its op, the first op apart") {
  // Recorded 16.5 s, replayed without delays 16 s: 1.03125, above the threshold.
  const Json result = compat_result(trace_of(two_dp_ranks()), {});
  CHECK(result["launch_slowdown"] == 16.5 / 16);
  CHECK(result["launch_decompose_by_dp_rank"] == Json{{"0", 1.0}, {"1", 16.5 / 16}});
  CHECK(result["launch_decompose_by_optype"]["params-all-gather"] == 16.5 / 16);
  CHECK(result["launch_decompose_by_optype"]["first-op"] == 1.0);
  CHECK_FALSE(
      result["launch_decompose_by_optype"].contains("forward-compute"));  // the only one is the first op
  CHECK(result["blocking_decompose_by_optype"].contains("forward-compute"));
}

TEST_CASE("reference by hand: a message is transferred once both stages have launched it") {
  const OpTrace trace = trace_of(two_stages());
  const auto times = op_times(trace, {});
  CHECK(times.at({1, 0, "forward-send_0_0"}).transfer == 1.5);              // 2.5 - max(1, 0)
  CHECK(times.at({1, 0, "forward-recv_0_1"}).transfer == 1);                // 2 - max(1, 0)
  CHECK(times.at({1, 0, "backward-recv_0_0"}).transfer == 1.25);            // 9.25 - max(1, 8)
  CHECK(times.at({1, 0, "embedding-grads-all-reduce_0_1"}).transfer == 1);  // 13.25 - max(9, 12.25)
  CHECK(times.at({1, 0, "backward-recv_0_0"}).nodelay_start == 0);  // the first pass of stage 0 needs no wait
  // Ideal: F 1.5, forward-recv 1: the second stage computes 2.5-4 and 4-7; backward-recv 1.25: B of stage 0
  // from 8.25.
  CHECK(times.at({1, 0, "forward-compute_0_1"}).ideal_start == 2.5);
  CHECK(times.at({1, 0, "backward-compute_0_0"}).ideal_start == 8.25);
  CHECK(times.at({1, 0, "optimizer_0_1"}).ideal_end == 15.25);
}

TEST_CASE("reference by hand: what ends well before its peer has started took no time") {
  // Stage 1 is 1.125 s early on its own clock: forward-recv -1.125 to 0.875, its peer starts at 1.
  // Not so the embedding gradients: they end at 12.125 and stage 0 starts them at 12.25, which is refused.
  CHECK_THROWS_WITH_AS(op_times(trace_of(two_stages(1.125)), {}),
                       doctest::Contains("embedding-grads-all-reduce_0_1 ends 0.125 s before"),
                       std::runtime_error);
  std::vector<OpRow> rows = two_stages(1.125);
  for (OpRow& row : rows)
    row.start_s += row.optype == OpType::kEmbeddingGradsAllReduce && row.stage == 1 ? 1 : 0;
  const auto times = op_times(trace_of(rows), {});
  CHECK(times.at({1, 0, "forward-recv_0_1"}).transfer == 0);
  CHECK(times.at({1, 0, "forward-compute_0_0"}).launch_delay == 1.125);  // the step starts on the early clock
}

TEST_CASE("reference by hand: clock noise below 10 ms stays") {
  constexpr double kNoise = 0.0078125;
  std::vector<OpRow> rows = two_stages();
  for (OpRow& row : rows) {
    if (row.optype == OpType::kForwardRecv) row.duration_s = 1 - kNoise;  // ends before its peer starts at 1
    if (row.optype == OpType::kBackwardSend) row.start_s = 8 - kNoise;    // starts before its pass ends at 8
  }
  const auto times = op_times(trace_of(rows), {});
  CHECK(times.at({1, 0, "forward-recv_0_1"}).transfer == -kNoise);
  CHECK(times.at({1, 0, "backward-send_0_1"}).launch_delay == -kNoise);
}

TEST_CASE("reference: refuses what has no place in a training step") {
  const auto refuse = [](const OpTrace& trace, const char* why) {
    CHECK_THROWS_WITH_AS(dependencies(trace, {}), doctest::Contains(why), std::runtime_error);
  };
  std::vector<OpRow> twice = two_stages();
  twice.push_back(twice.front());
  std::vector<OpRow> one_short = one_worker();
  one_short.pop_back();
  std::vector<OpRow> dp_ops = two_dp_ranks();
  std::erase_if(dp_ops, [](const OpRow& row) { return row.dp_rank == 1; });

  refuse({}, "the trace is empty");
  refuse(trace_of(twice), "occurs twice");
  refuse(trace_of(one_short), "step 2 dp rank 0: optimizer_0_0 is missing");
  refuse(trace_of(dp_ops), "has no place");  // data-parallel ops of a single rank
  CHECK_NOTHROW(dependencies(trace_of(dp_ops), {.dsp_size = 2}));
  refuse(without(two_stages(), OpType::kGc), "gc_0_0 is missing");
  refuse(without(two_stages(), OpType::kEmbeddingGradsAllReduce),
         "embedding-grads-all-reduce_0_0 is missing");
  refuse(without(two_stages(), OpType::kForwardSend), "0 forward-send for 1 forward-recv");
  refuse(without(two_dp_ranks(), OpType::kGradsReduceScatter), "no grads-reduce-scatter");
  CHECK_THROWS_WITH_AS(compat_result(trace_of(one_worker()), {.steps = {3}}), "step 3 is not in the trace",
                       std::runtime_error);
}

}  // namespace goodput::reference
