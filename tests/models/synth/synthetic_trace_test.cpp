// Synthetic traces: that whatif finds the graph they were made from, and that their truth is true.
#include "models/synth/synthetic_trace.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "models/cost/cost_models.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/random_plan.h"
#include "tests/support/synthetic_case.h"

namespace goodput {
namespace {

using testing::StepShape;
using testing::SyntheticCase;

// One stage, one micro-batch, two replicas.
const StepShape kTiny = {.schedule = "1f1b", .dp = 2, .pp = 1, .micro_batches = 1, .forward_s = 1};

std::string error_of(const Result<SyntheticTrace>& result) {
  REQUIRE_FALSE(result);
  return result.error().message();
}

Result<SyntheticStep> step_of(const TrainingPlan& plan) {
  const auto cost = make_cost_model(cost_inputs(plan));
  REQUIRE(cost);
  return synthetic_step(plan, **cost, 1);
}

}  // namespace

TEST_CASE("synthetic trace: a job of one slow replica is that of the pencil") {
  // Forward 1 s, backward 2, gather 0.3, layernorm 0.01, scatter 0.5, clip 0.01, optimizer 0.5: a step
  // of 4.32 s. dp 1 computes twice as long: 0.3 + 2 + 4 + 0.01 + 0.5 + 0.01 + 1 = 7.82.
  const SyntheticTrace trace = SyntheticCase{kTiny, {SlowWorker{1, 0, 2}}, {3, 0}, 1}.synthesize();
  CHECK(trace.truth.recorded_s == doctest::Approx(7.82).epsilon(1e-12));
  CHECK(trace.truth.replayed_s == doctest::Approx(7.82).epsilon(1e-12));
  CHECK(trace.truth.clean_s == doctest::Approx(4.32).epsilon(1e-12));
  // Means of 1.5, 3 and 0.75 s: 0.3 + 1.5 + 3 + 0.01 + 0.5 + 0.01 + 0.75.
  CHECK(trace.truth.ideal_s == doctest::Approx(6.07).epsilon(1e-12));
  CHECK(trace.truth.slowdown == doctest::Approx(7.82 / 6.07).epsilon(1e-12));
  CHECK(trace.truth.launch_slowdown == doctest::Approx(1).epsilon(1e-12));
  REQUIRE(trace.truth.worker_slowdown.size() == 2);
  CHECK(trace.truth.worker_slowdown[1] == doctest::Approx(7.82 / 6.07).epsilon(1e-12));
  // dp 0 is faster than the ideal replica that it waits for, but for its own optimizer.
  CHECK(trace.truth.worker_slowdown[0] == doctest::Approx(1).epsilon(1e-12));
  CHECK(trace.truth.stage_slowdown == std::vector<double>{trace.truth.slowdown});
  CHECK(trace.truth.cost[0] == doctest::Approx(1 - 4.32 / 7.82).epsilon(1e-12));
}

TEST_CASE("synthetic trace: a worker that slows down is slower by the same in every step") {
  // The factor grows from 1 in step 1 to 2 in step 3. The steps take 4.32 s, 4.32 + 0.5 * 3.5 s and 7.82 s;
  // their mean is 6.07 s.
  const SyntheticTrace trace = SyntheticCase{kTiny, {SlowWorker{1, 0, 2, 1, 0, 1}}, {3, 0}, 1}.synthesize();
  CHECK(trace.truth.recorded_s == doctest::Approx(6.07).epsilon(1e-12));
  CHECK(trace.truth.cost[0] == doctest::Approx(1 - 4.32 / 6.07).epsilon(1e-12));
}

TEST_CASE("synthetic trace: messages of a slow link take longer both ways, in its replica and window") {
  // One micro-batch on two stages: a message of 0.02 s forwards and one backwards are on the only path, so
  // that a step with the fault takes 2 * 0.02 * 9 = 0.36 s longer. Both replicas meet in their reductions.
  const StepShape shape = {
      .schedule = "1f1b", .dp = 2, .pp = 2, .micro_batches = 1, .forward_s = 1, .message_share = 0.02};
  const double clean_s = SyntheticCase{shape, {}, {4, 0}, 1}.synthesize().truth.recorded_s;
  const auto longer_s = [&](const SlowLink& link) {
    return SyntheticCase{shape, {link}, {4, 0}, 1}.synthesize().truth.recorded_s - clean_s;
  };
  CHECK(longer_s({1, 0, 10}) == doctest::Approx(0.36).epsilon(1e-9));
  CHECK(longer_s({SlowLink::kAllReplicas, 0, 10}) == doctest::Approx(0.36).epsilon(1e-9));
  CHECK(longer_s({1, 0, 10, 2, 3}) == doctest::Approx(0.18).epsilon(1e-9));  // in two of four steps
}

TEST_CASE(
    "synthetic trace: rows are float32, sorted as NDTimeline's, ranks and steps numbered as Megatron does") {
  const SyntheticTrace trace =
      SyntheticCase{{.dp = 3, .pp = 2, .vpp = 2, .micro_batches = 4}, {}, {2, 0.05}, 7}.synthesize();
  const OpTrace& rows = trace.rows;
  CHECK(times_are_float32(rows));
  const auto key = [&](std::size_t i) {
    return std::tuple(rows.step[i], rows.rank[i], rows.optype[i], rows.seq_id[i]);
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) CHECK(key(i - 1) < key(i));
    CHECK(rows.rank[i] ==
          2 * (rows.stage[i] * 3 + rows.dp_rank[i]));  // a gap of two: two tensor-parallel ranks
    if (rows.mc[i] != kUnset) CHECK(rows.gmc[i] == rows.mc[i] * 2 + rows.stage[i]);
  }
  CHECK(rows.step.front() == 1);
  CHECK(rows.step.back() == 2);
  CHECK(*std::min_element(rows.start_s.begin(), rows.start_s.end()) == 0);
}

TEST_CASE(
    "synthetic trace: noise is the same with and without a straggler, and other seeds draw other noise") {
  const SyntheticCase job{{.dp = 2, .pp = 2}, {}, {3, 0.05}, 7};
  SyntheticCase slow = job;
  slow.stragglers = {StagePartition{1, 3}};
  const OpTrace clean = job.synthesize().rows;
  const OpTrace slowed = slow.synthesize().rows;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    if (!is_pass_compute(clean.optype[i])) continue;
    CHECK(slowed.duration_s[i] ==
          doctest::Approx(clean.duration_s[i] * (clean.stage[i] == 1 ? 3 : 1)).epsilon(1e-6));
  }
  SyntheticCase other = job;
  other.seed = 8;
  CHECK(hash_rows(other.synthesize().rows) != hash_rows(clean));
  CHECK(hash_rows(job.synthesize().rows) == hash_rows(clean));
}

TEST_CASE("synthetic trace: whatif finds the graph of every recordable plan") {
  // synthesize() compares the graphs itself and fails where they differ.
  int traces = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {  // three of eight schedules are recordable
    TrainingPlan plan = testing::random_plan(seed);
    plan.parallel.overlap_p2p = false;
    CAPTURE(seed);
    const Result<SyntheticStep> step = step_of(plan);
    if (!step) {
      CHECK(step.error().what.find("NDTimeline has no names for") != std::string::npos);
      continue;
    }
    const Result<SyntheticTrace> trace = synthesize(*step, {}, {2, 0.1}, seed, Truth::kSlowdown);
    REQUIRE_MESSAGE(trace, testing::to_string(plan) << ": " << (trace ? "" : trace.error().message()));
    ++traces;
  }
  CHECK(traces >= 60);
}

TEST_CASE("synthetic trace: what NDTimeline cannot show is refused by field") {
  TrainingPlan plan = testing::small_plan();
  plan.file = "plan.json";
  plan.parallel.pp = 2;
  plan.parallel.global_batch = 8;
  plan.parallel.overlap_p2p = true;
  CHECK(step_of(plan).error().message() ==
        "plan.json /parallel/overlap_p2p: must be false for NDTimeline traces, in which a receive starts "
        "only after the previous pass has ended");
  plan.parallel.schedule = "zb-h1";
  CHECK(step_of(plan).error().message() ==
        "plan.json /parallel/schedule: is \"zb-h1\", but NDTimeline has no names for the ops of this "
        "schedule; use gpipe, 1f1b or interleaved");
}

TEST_CASE("synthetic trace: ops that float32 cannot tell apart, and traces without end, are refused") {
  SyntheticStep step = testing::even_step({.dp = 1, .pp = 2, .micro_batches = 8, .forward_s = 1e-9});
  for (OpId op = 0; op < step.ops.size(); ++op) {
    if (step.ops[op].type == OpType::kForwardRecv)
      step.value_s[op] = 100;  // late enough that float32 is coarse
  }
  CHECK(error_of(synthesize(step, {}, {2, 0}, 1)).starts_with("the ops are too short to record: 80"));
  std::fill(step.value_s.begin(), step.value_s.end(), 0.0);
  CHECK(error_of(synthesize(step, {}, {2, 0}, 1)).starts_with("the ops are too short to record"));
  const SyntheticStep fine = testing::even_step({.dp = 8, .pp = 4, .micro_batches = 8});
  CHECK(error_of(synthesize(fine, {}, {1'000'000, 0}, 1)) ==
        "186 ops in each of 1000000 steps and 8 replicas make 1.49e+09 rows, but at most 5e+07 are "
        "supported; write fewer steps");
  CHECK(error_of(synthesize(fine, {SlowWorker{9, 0, 2}}, {2, 0}, 1)) ==
        "/0/dp: is 9, but the job has only 8 data-parallel ranks, numbered from 0");
}

TEST_CASE("synthetic trace: a step of an hour, a thousand replicas, and instant messages are fine") {
  CHECK(SyntheticCase{{.dp = 2, .pp = 4, .vpp = 2, .micro_batches = 4, .forward_s = 300}, {}, {2, 0.1}, 1}
            .synthesize()
            .truth.slowdown > 1);
  CHECK(SyntheticCase{{.dp = 1000, .pp = 2, .micro_batches = 2}, {SlowWorker{999, 1, 2}}, {1, 0.01}, 1}
            .synthesize()
            .truth.slowdown > 1);
  SyntheticStep step = testing::even_step({.dp = 2, .pp = 4, .micro_batches = 6});
  for (OpId op = 0; op < step.ops.size(); ++op) {
    if (step.graph.is_grouped(op)) step.value_s[op] = 0;
  }
  CHECK(synthesize(step, {}, {2, 0.01}, 1));
}

TEST_CASE("synthetic trace: sequence lengths keep the mean cost of a micro-batch") {
  const SyntheticCase job{
      {.dp = 2, .pp = 2, .micro_batches = 8}, {SequenceLengths{800, 1.5, 0.6}}, {5, 0}, 3};
  const OpTrace rows = job.synthesize().rows;
  double sum = 0;
  double count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.optype[i] != OpType::kForwardCompute) continue;
    sum += rows.duration_s[i];
    ++count;
  }
  CHECK(sum / count == doctest::Approx(0.02).epsilon(1e-5));
}

TEST_CASE("synthetic trace: uneven documents cost more, the longer the plan's sequences are") {
  TrainingPlan plan = testing::small_plan();
  plan.model.hidden = 4096;
  plan.model.heads = plan.model.kv_heads = 32;
  plan.model.head_dim = 128;
  plan.model.ffn = 16384;
  plan.parallel.dp = 8;
  plan.parallel.global_batch = 32;
  double last = 1;
  for (const std::int64_t length : {4096, 8192, 16384, 32768}) {
    plan.parallel.sequence_length = length;
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      sum += synthesize(*step_of(plan), {SequenceLengths{}}, {10, 0}, seed, Truth::kSlowdown)->truth.slowdown;
    CAPTURE(length);
    CHECK(sum / 4 > last);
    last = sum / 4;
  }
}

TEST_CASE("synthetic trace: attention takes its share of the plan's FLOPs, unless the straggler states one") {
  const SyntheticStep step = step_of(testing::small_plan()).value();
  const SyntheticTrace trace =
      synthesize(step, {SequenceLengths{}, SequenceLengths{512, 1.5, 0.25}}, {1, 0}, 1).value();
  CHECK(std::get<SequenceLengths>(trace.stragglers[0]).attention_share == step.attention_share);
  CHECK(std::get<SequenceLengths>(trace.stragglers[1]).attention_share == 0.25);
  CHECK(
      describe(trace.stragglers[1]) ==
      "the median document has 512 tokens (standard deviation of the logarithm 1.5); attention scores take a "
      "fraction of 0.25 of a pass with one document");
}

TEST_CASE("synthetic trace: an uneven partition costs what an even one of the same work would save") {
  const SyntheticTrace trace =
      SyntheticCase{{.dp = 1, .pp = 2, .micro_batches = 64}, {StagePartition{1, 1.5}}, {1, 0}, 1}
          .synthesize();
  // With many micro-batches the slower stage sets the pace: 1.5 against 1.25.
  CHECK(trace.truth.cost[0] == doctest::Approx(1 - 1.25 / 1.5).epsilon(0.02));
}

}  // namespace goodput
