#include "models/step/planned_step.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/cost/collectives.h"
#include "models/cost/cost_models.h"
#include "models/cost/roofline.h"
#include "models/step/step_report.h"
#include "sim/engine/step_engine.h"
#include "tests/support/random_plan.h"

namespace goodput {
namespace {

using testing::random_plan;
using testing::small_plan;
using testing::to_string;

PlannedStep build(const TrainingPlan& plan, Granularity granularity) {
  auto step = build_planned_step(plan, RooflineCost(plan.cluster, plan.roofline), granularity, 7);
  REQUIRE_MESSAGE(step, (step ? "" : step.error().message()));
  return *std::move(step);
}

// Every kernel takes `kernel`, every collective `collective`.
class FlatCost final : public CostModel {
 public:
  FlatCost(double kernel, double collective) : kernel_(kernel), collective_(collective) {}
  [[nodiscard]] Cost kernels(std::span<const Kernel> sequence) const override {
    return {kernel_ * static_cast<double>(sequence.size()), Tier::kAssumed};
  }
  [[nodiscard]] Cost collective(const CollectiveCall& /*call*/) const override {
    return {collective_, Tier::kModel};
  }

 private:
  double kernel_;
  double collective_;
};

// Layers of two passes run in turn.
bool runs_in_turn(const TrainingPlan& plan) {
  return plan.parallel.schedule == "dualpipe" || plan.parallel.schedule == "dualpipev";
}

bool splits_weights(const TrainingPlan& plan) {
  const std::string& name = plan.parallel.schedule;
  return name == "zb-h1" || name == "zb-v" || name == "v-half";
}

std::vector<double> sum_by_label(const PlannedStep& step, const std::string& label) {
  std::vector<double> values;
  for (OpId op = 0; op < step.ops.size(); ++op) {
    if (step.ops[op].label() == label) values.push_back(step.row(op)[0]);
  }
  return values;
}

}  // namespace

TEST_CASE("planned step: whole passes and passes layer by layer take the same time, to the nanosecond" *
          doctest::test_suite("slow")) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const TrainingPlan plan = random_plan(seed);
    if (runs_in_turn(plan)) continue;
    const SimDuration by_op = step_time(build(plan, Granularity::kOps));
    const SimDuration by_layer = step_time(build(plan, Granularity::kLayers));
    // Gradients of weights meet nobody: ranks with less to do get ahead there, which whole passes do not
    // show.
    const bool gets_ahead = splits_weights(plan) && plan.expert_load.skew > 0;
    CHECK_MESSAGE(
        (gets_ahead ? by_op >= by_layer : by_op == by_layer),
        fmt::format("seed {} {}: {} against {}", seed, to_string(plan), by_op.count(), by_layer.count()));
    ++compared;
  }
  CHECK(compared > 200);
}

TEST_CASE(
    "planned step: DualPipe is no slower layer by layer, where passes hide each other's communication") {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const TrainingPlan plan = random_plan(seed);
    if (!runs_in_turn(plan) || plan.parallel.ep == 1) continue;
    const SimDuration by_op = step_time(build(plan, Granularity::kOps));
    const SimDuration by_layer = step_time(build(plan, Granularity::kLayers));
    // Parts take turns in an order chosen for the slowest rank. If loads differ, other ranks may wait.
    const double most = plan.expert_load.skew > 0 ? 1.02 : 1;
    CHECK_MESSAGE(to_seconds(by_layer) <= most * to_seconds(by_op),
                  fmt::format("seed {} {}", seed, to_string(plan)));
    ++compared;
  }
  CHECK(compared > 5);
}

TEST_CASE(
    "planned step: the event-driven engine agrees with longest paths to the nanosecond on random plans" *
    doctest::test_suite("slow")) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const TrainingPlan plan = random_plan(seed);
    const Granularity granularity = seed % 4 == 0 ? Granularity::kLayers : Granularity::kOps;
    const PlannedStep step = build(plan, granularity);
    TimingEngine timing(step.graph, step.lanes, {}, TimingEngine::Keep::kAllTimes);
    timing.propagate(PlannedValues(step));
    StepEngine engine(step.graph, step.lanes);
    const StepOutcome& outcome = engine.run(step_work(step));
    REQUIRE(outcome.completed);
    std::size_t different = 0;
    for (OpId op = 0; op < step.ops.size(); ++op) {
      for (std::size_t lane = 0; lane < step.lanes.lanes(); ++lane) {
        const std::size_t at = op * step.lanes.lanes() + lane;
        const bool equal =
            static_cast<double>(outcome.starts[at].time_since_epoch().count()) == timing.starts(op)[lane] &&
            static_cast<double>(outcome.ends[at].time_since_epoch().count()) == timing.ends(op)[lane];
        different += equal ? 0 : 1;
      }
    }
    REQUIRE_MESSAGE(different == 0, fmt::format("seed {} {}", seed, to_string(plan)));
  }
}

TEST_CASE("planned step: flows over NICs take what their rows say alone, and no less where they share") {
  int shared = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const TrainingPlan plan = random_plan(seed);
    const PlannedStep step = build(plan, seed % 3 == 0 ? Granularity::kLayers : Granularity::kOps);
    const BytesPerSecond nic{nic_bytes_per_second(plan.cluster)};
    const SimDuration alone = step_time(step);
    StepEngine engine(step.graph, step.lanes, step_workers(step));
    const StepWork work = step_work_over_nics(step, nic);
    CHECK_MESSAGE(engine.run(work).end - SimTime{} == alone,
                  fmt::format("seed {} {}", seed, to_string(plan)));
    const SimDuration contended = step_time_over_nics(step, nic);
    CHECK_MESSAGE(contended >= alone, fmt::format("seed {} {}", seed, to_string(plan)));
    shared += contended > alone ? 1 : 0;
  }
  MESSAGE(fmt::format("{} of 300 steps are longer with shared NICs", shared));
  CHECK(shared > 10);
}

TEST_CASE("planned step: without pipeline a step is its passes and then its tail, one after the other") {
  TrainingPlan plan = small_plan();
  plan.parallel.dp = 2;
  plan.parallel.global_batch = 12;  // 6 micro-batches
  const PlannedStep step = build(plan, Granularity::kOps);
  double total = 0;
  for (OpId op = 0; op < step.ops.size(); ++op) total += step.row(op)[0];
  CHECK(static_cast<double>(step_time(step).count()) == total);
  CHECK(sum_by_label(step, "forward-compute").size() == 6);
  CHECK(sum_by_label(step, "grads-reduce-scatter").size() == 1);
  CHECK(sum_by_label(step, "params-all-gather").empty());  // no sharded optimizer
}

TEST_CASE("planned step: 1F1B with free communication takes (m + p - 1) (f + b), its bubble (p-1)/(m+p-1)") {
  TrainingPlan plan = small_plan();
  plan.parallel.pp = 4;
  plan.parallel.global_batch = 12;
  // Embedding and head make the first and last stage longer; with equal kernels they are a few of many.
  plan.model.layers = 128;
  const FlatCost cost(1e-6, 0);
  const auto step = build_planned_step(plan, cost, Granularity::kOps, 0);
  REQUIRE(step);
  const std::vector<double> forwards = sum_by_label(*step, "forward-compute");
  const std::vector<double> backwards = sum_by_label(*step, "backward-compute");
  // Of a middle stage and of the longest one.
  const double middle = *std::min_element(forwards.begin(), forwards.end()) +
                        *std::min_element(backwards.begin(), backwards.end());
  const double longest = *std::max_element(forwards.begin(), forwards.end()) +
                         *std::max_element(backwards.begin(), backwards.end());
  const StepReport report = report_step(plan, *step);
  const auto tail = static_cast<double>(report.step.count()) - sum_by_label(*step, "optimizer")[0] -
                    sum_by_label(*step, "optimizer-clip-main-grad")[0];
  CHECK(tail >= (12 + 4 - 1) * middle);
  CHECK(tail <= (12 + 4 - 1) * longest);
  const double closed_form = 3.0 / 15;
  MESSAGE(fmt::format("bubble {:.4f}, closed form {:.4f}", report.bubble, closed_form));
  CHECK(report.bubble == doctest::Approx(closed_form).epsilon(0.02));
  CHECK(report.exposed_communication == SimDuration{});
  CHECK(report.tier == Tier::kAssumed);
}

TEST_CASE("planned step: exposed communication is what the step loses when communication is free") {
  TrainingPlan plan = small_plan();
  plan.parallel.tp = 4;
  // One micro-batch: every reduction is exposed. 8 layers x 2 blocks x (forward + backward) + embedding +
  // head.
  plan.parallel.global_batch = 1;
  const auto step = build_planned_step(plan, FlatCost(1e-6, 1e-3), Granularity::kLayers, 0);
  REQUIRE(step);
  const StepReport report = report_step(plan, *step);
  // Layer parts alone are communication: what embedding and head reduce is part of theirs. And the norm's.
  CHECK(to_seconds(report.exposed_communication) == doctest::Approx((8 * 2 * 2) * 1e-3 + 1e-3).epsilon(0.01));
}

TEST_CASE("planned step: tokens that crowd on a few experts give every expert-parallel rank its own lane") {
  TrainingPlan plan = small_plan();
  plan.model.moe = MoeShape{.experts = 16, .top_k = 2, .expert_ffn = 2048};
  plan.parallel.dp = plan.parallel.ep = 8;
  const PlannedStep balanced = build(plan, Granularity::kLayers);
  CHECK(balanced.lanes.lanes() == 1);
  plan.expert_load.skew = 1;
  const PlannedStep skewed = build(plan, Granularity::kLayers);
  CHECK(skewed.lanes.lanes() == 8);
  CHECK(step_time(skewed) > step_time(balanced));
  for (OpId op = 0; op < skewed.ops.size(); ++op) {
    const bool meets =
        skewed.ops[op].part == LayerPart::kDispatch || skewed.ops[op].part == LayerPart::kCombine;
    if (meets) CHECK(skewed.graph.is_grouped(op));
  }
}

TEST_CASE(
    "planned step: with ZeRO-3 a layer's parameters are gathered in every pass, or behind other layers") {
  TrainingPlan plan = small_plan();
  plan.parallel.dp = 4;
  plan.parallel.zero = 3;
  plan.parallel.global_batch = 4;  // one micro-batch
  const auto gathers = [&](bool overlaps, double collective_s) {
    plan.parallel.overlap_param_gather = overlaps;
    const auto step = build_planned_step(plan, FlatCost(1e-6, collective_s), Granularity::kLayers, 0);
    REQUIRE(step);
    std::vector<double> all = sum_by_label(*step, "forward-compute/params-gather");
    const std::vector<double> backward = sum_by_label(*step, "backward-compute/params-gather");
    all.insert(all.end(), backward.begin(), backward.end());
    return all;
  };
  CHECK(gathers(false, 5e-6) == std::vector<double>(16, 5000));  // 8 layers, forwards and backwards
  // A layer has more than five kernels of 1 us; the embedding is in front of the first layer, the head in
  // front of the first backward.
  CHECK(gathers(true, 5e-6) == std::vector<double>(16, 0));
  CHECK(gathers(true, 1).front() > 0.99e9);
  const auto step = build_planned_step(plan, FlatCost(1e-6, 5e-6), Granularity::kLayers, 0);
  REQUIRE(step);
  CHECK(sum_by_label(*step, "backward-compute/gradients-scatter") == std::vector<double>(8, 5000));
  CHECK(sum_by_label(*step, "grads-reduce-scatter") == std::vector<double>{5000});  // embedding and head
  plan.parallel.zero = 1;                                                           // once a step instead
  CHECK(gathers(false, 5e-6).empty());
}

TEST_CASE("planned step: both directions of DualPipe reduce the gradients of their copies together") {
  TrainingPlan plan = small_plan();
  plan.parallel.pp = 2;
  plan.parallel.dp = 4;
  plan.parallel.global_batch = 16;
  const auto reduction = [&](const std::string& schedule) {
    plan.parallel.schedule = schedule;
    return sum_by_label(build(plan, Granularity::kOps), "grads-reduce-scatter");
  };
  CHECK(reduction("1f1b").size() == 2);      // a chunk on each of two stages
  CHECK(reduction("dualpipe").size() == 4);  // two
  // A ring over 8 GPUs instead of 4: 2 (7/8) of the bytes instead of 2 (3/4), and more steps.
  CHECK(reduction("dualpipe")[0] > 7.0 / 6 * reduction("1f1b")[0]);
}

TEST_CASE("planned step: in a V stage 0 has embedding and head, so tied weights need no reduction") {
  TrainingPlan plan = small_plan();
  plan.parallel.pp = 2;
  for (const char* schedule : {"zb-v", "v-half", "dualpipev"}) {
    CAPTURE(schedule);
    for (const bool tied : {false, true}) {
      plan.model.tied_head = tied;
      plan.parallel.schedule = schedule;
      CHECK(sum_by_label(build(plan, Granularity::kOps), "embedding-grads-all-reduce").empty());
      plan.parallel.schedule = "1f1b";
      CHECK(sum_by_label(build(plan, Granularity::kOps), "embedding-grads-all-reduce").size() ==
            (tied ? 2 : 0));
    }
  }
}

TEST_CASE("planned step: in a V a message goes over each of the p-1 boundaries between stages twice") {
  TrainingPlan plan = small_plan();
  plan.parallel.pp = 4;
  plan.parallel.schedule = "zb-v";
  plan.parallel.global_batch = 8;  // micro-batches
  const auto step = build_planned_step(plan, FlatCost(1e-6, 5e-6), Granularity::kOps, 0);
  REQUIRE(step);
  CHECK(sum_by_label(*step, "forward-send") == std::vector<double>(8 * 2 * 3, 5000));
  CHECK(sum_by_label(*step, "backward-recv") == std::vector<double>(8 * 2 * 3, 5000));
}

TEST_CASE("planned step: ops are named after their pass, part and layer") {
  const StepOp part{{OpType::kForwardCompute, 3, 1, 0, 3, 1}, LayerPart::kAttention, 5};
  CHECK(part.name() == "forward-compute_3_1/attention_5");
  CHECK(part.label() == "forward-compute/attention");
  CHECK_FALSE(part.is_communication());
  const StepOp dispatch{{OpType::kBackwardCompute, 0, 0, 0, 0, 0}, LayerPart::kDispatch, 2};
  CHECK(dispatch.is_communication());
  const StepOp whole{{OpType::kBackwardWeight, 2, 1, 0, 2, 1}};
  CHECK(whole.name() == "backward-weight_2_1");
  CHECK_FALSE(whole.is_communication());
  const StepOp send{{OpType::kForwardSend, 0, 0, 0, 0, 0}};
  CHECK(send.is_communication());
}

TEST_CASE(
    "planned step: a share of work that hides a reduction is at least a layer's and at most all of it") {
  TrainingPlan plan = small_plan();
  plan.parallel.dp = 4;
  plan.parallel.global_batch = 16;
  const auto reduction = [&](bool overlaps, double collective_s) {
    plan.parallel.overlap_grad_reduce = overlaps;
    const auto step = build_planned_step(plan, FlatCost(1e-6, collective_s), Granularity::kOps, 0);
    REQUIRE(step);
    return sum_by_label(*step, "grads-reduce-scatter").at(0);
  };
  CHECK(reduction(false, 8e-6) == 8000);
  CHECK(reduction(true, 8e-6) == 1000);  // 8 layers: the last one's share has nothing to hide behind
  CHECK(reduction(true, 1) >
        0.99e9);  // a second hides hardly at all behind a pass of less than a millisecond
}

}  // namespace goodput
