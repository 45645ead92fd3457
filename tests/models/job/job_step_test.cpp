#include "models/job/job_step.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "models/cost/cost_models.h"
#include "models/cost/roofline.h"
#include "models/job/placed_load.h"
#include "models/placement/layer_classes.h"
#include "models/routing/job_routing.h"
#include "models/schedule/schedule.h"
#include "models/step/gpu_parameters.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "sim/base/apportion.h"
#include "sim/base/index.h"
#include "sim/base/random.h"
#include "sim/engine/timing.h"
#include "tests/support/placement_case.h"
#include "tests/support/random_plan.h"
#include "tests/support/step_case.h"

namespace goodput {
namespace {

using testing::LayerLoads;
using testing::placed;
using testing::shipped_plan;
using testing::timed;

constexpr double kFlops = 1e12;  // a second
constexpr double kLink = 1e9;    // bytes a second

// Matrix multiplications and bytes between GPUs, nothing else.
class HandCost final : public CostModel {
 public:
  [[nodiscard]] Cost kernels(std::span<const Kernel> sequence) const override {
    double flops = 0;
    for (const Kernel& kernel : sequence) {
      flops += 2.0 * static_cast<double>(kernel.batch) * static_cast<double>(kernel.m) *
               static_cast<double>(kernel.n) * static_cast<double>(kernel.k);
    }
    return {flops / kFlops, Tier::kModel};
  }
  [[nodiscard]] Cost collective(const CollectiveCall& call) const override {
    const double n = call.group.size;
    const double passes = call.kind == Collective::kAllReduce ? 2 : 1;
    return {passes * (n - 1) / n * call.imbalance * call.bytes / kLink, Tier::kModel};
  }
};

// One layer with two experts, top-1, one GPU a node, 1024 tokens a GPU.
TrainingPlan tiny_plan() {
  TrainingPlan plan = testing::small_plan();
  plan.model.layers = 1;
  plan.model.moe = MoeShape{.experts = 2, .top_k = 1, .expert_ffn = 2048};
  plan.cluster.gpus_per_node = 1;
  plan.cluster.nics_per_node = 1;
  plan.parallel.global_batch = 1;
  plan.parallel.fused_attention = false;
  return plan;
}

constexpr double kTokens = 1024, kHidden = 512, kFfn = 2048, kVocab = 50304;

// Of the tiny plan on two nodes, forwards and twice that backwards; all-to-alls four times.
double passes_s(double expert_rows, double imbalance) {
  const double attention = kTokens * (8 * kHidden * kHidden + 4 * kTokens * kHidden);
  const double router = kTokens * 2 * kHidden * 2;
  const double experts = expert_rows * 4 * kHidden * kFfn;
  const double head = kTokens * 2 * kHidden * kVocab;
  const double half = 0.5;  // of two GPUs, what leaves one
  const double all_to_all = half * imbalance * 2 * kTokens * kHidden / kLink;
  const double counts = half * 4 * 2 * 2 / kLink;
  return 3 * (attention + router + experts + head) / kFlops + 4 * all_to_all + counts;
}

// All-reduces over two GPUs move their buffer once: 4 bytes a gradient, and 4 for the norm.
double reductions_s(const TrainingPlan& plan, double expert_gradients) {
  const LayerParameters layer = layer_parameters(plan.model, 0);
  const double dense =
      static_cast<double>(layer.total() - layer.routed_experts) + 2 * kVocab * kHidden;  // embedding and head
  return (4 * (dense + expert_gradients) + 4) / kLink;
}

// Every op is rounded to a nanosecond.
void check_seconds(SimDuration found, double expected) {
  CHECK_MESSAGE(std::abs(to_seconds(found) - expected) < 20e-9,
                fmt::format("{} against {}", to_seconds(found), expected));
}

}  // namespace

TEST_CASE("moe step: a flexible step is its parts one after the other, of the busiest GPU") {
  const TrainingPlan plan = tiny_plan();
  const HandCost cost;
  const MoeStepModel model(plan, cost, BatchRule::kPerReplica);
  // Two GPUs route 640 tokens each to expert 0 and 384 to expert 1; each hosts one of them: GPU 0 computes
  // 1280 rows, and 640 tokens travel where 512 would with equal experts.
  const StepTime time =
      timed(model.flexible(std::vector{ExpertPlacement{2, 2, 1, {0, 1}}}, LayerLoads{{1280, 768}}));
  check_seconds(time.forward_backward, passes_s(1280, 640.0 / 512));
  check_seconds(time.step, passes_s(1280, 640.0 / 512) + reductions_s(plan, 0));
  CHECK(time.samples == 2);
}

TEST_CASE("moe step: what ranks route decides what a flexible step sends") {
  const TrainingPlan plan = tiny_plan();
  const HandCost cost;
  // GPU 0 hosts expert 0, GPU 1 expert 1; each expert gets 1024 of the 2048 tokens. Rank 0 routes 256 of its
  // 1024 tokens to expert 0 and 768 to expert 1, rank 1 the other way round: 768 travel instead of 512.
  const RankRows rows{1, 2, 2, {1, 3, 3, 1}};
  const RankSpread ranks =
      recorded_spread(rows, std::vector<std::size_t>{0}, std::vector<std::vector<std::int32_t>>{{0, 1}});
  const MoeStepModel model(plan, cost, BatchRule::kPerReplica, &ranks);
  const std::vector placements{ExpertPlacement{2, 2, 1, {0, 1}}};
  check_seconds(timed(model.flexible(placements, LayerLoads{{1, 1}})).forward_backward,
                passes_s(1024, 768.0 / 512));
}

// Schedules, too.
class ScheduleCost final : public CostModel {
 public:
  [[nodiscard]] Cost kernels(std::span<const Kernel> sequence) const override {
    return hand_.kernels(sequence);
  }
  [[nodiscard]] Cost collective(const CollectiveCall& call) const override { return hand_.collective(call); }
  [[nodiscard]] std::optional<Cost> dispatch_schedule(std::int32_t ranks,
                                                      std::int32_t experts) const override {
    return Cost{1e-3 * ranks + 1e-5 * experts, Tier::kAssumed};
  }

 private:
  HandCost hand_;
};

TEST_CASE("moe step: a flexible step computes a schedule per layer and micro-batch, if its time is known") {
  TrainingPlan plan = tiny_plan();
  plan.parallel.global_batch = 3;  // micro-batches
  const HandCost hand;
  const ScheduleCost cost;
  const std::vector placements{ExpertPlacement{2, 2, 1, {0, 1}}};
  const auto step = [&](const CostModel& of, const StepSettings& settings) {
    return timed(MoeStepModel(plan, of, BatchRule::kPerReplica)
                     .flexible(placements, LayerLoads{{1280, 768}}, settings));
  };
  // 2 ranks and 2 experts; a slow node computes its schedules slowly, too.
  CHECK(step(cost, {}).step - step(hand, {}).step == 3 * from_seconds(2e-3 + 2e-5));
  CHECK(step(cost, {}).tier == Tier::kAssumed);
  const StepSettings slow{.slowest_speed = 0.5};
  CHECK(step(cost, slow).step - step(hand, slow).step == 3 * from_seconds(4e-3 + 4e-5));
  // Groups dispatch by expert: nothing to compute.
  const auto group = [&](const CostModel& of) {
    return timed(
        MoeStepModel(plan, of, BatchRule::kPerReplica).expert_parallel(2, {2}, LayerLoads{{1280, 768}}));
  };
  CHECK(group(cost).step == group(hand).step);
}

TEST_CASE("moe step: replicas of an expert on two nodes add up their gradients, one expert after the other") {
  const TrainingPlan plan = tiny_plan();
  const HandCost cost;
  const MoeStepModel model(plan, cost, BatchRule::kPerReplica);
  // Both experts on both nodes: every token finds its expert at home.
  const StepTime time =
      timed(model.flexible(std::vector{ExpertPlacement{2, 2, 2, {0, 1, 0, 1}}}, LayerLoads{{5, 3}}));
  const double expert = parameters_of_expert(plan.model);
  CHECK(expert >= 2 * kHidden * kFfn);
  check_seconds(time.step, passes_s(1024, 0) + reductions_s(plan, 2 * expert));
}

TEST_CASE("moe step: expert parallelism sends and computes buffers as long as the hottest expert needs") {
  const TrainingPlan plan = tiny_plan();
  const HandCost cost;
  const MoeStepModel model(plan, cost, BatchRule::kPerReplica);
  // 2048 tokens, 3 of 4 to expert 0: 768 rows a GPU for each of two experts, 1.5 times the balanced 1024.
  const StepTime time = timed(model.expert_parallel(2, {2}, LayerLoads{{3, 1}}));
  check_seconds(time.step, passes_s(1536, 1.5) + reductions_s(plan, 0));
  const StepTime balanced = timed(model.expert_parallel(3, {2}, JobRouting::balanced(1, 2).loads(0)));
  check_seconds(balanced.step, passes_s(1024, 1) + reductions_s(plan, 0));
  CHECK(balanced.samples == 2);  // of three nodes one idles
}

TEST_CASE("moe step: without padding a group is as slow as its busiest GPU") {
  TrainingPlan plan = tiny_plan();
  plan.model.moe->experts = 4;
  const HandCost cost;
  const MoeStepModel model(plan, cost, BatchRule::kPerReplica);
  // 2048 tokens. Experts 0 and 3 get 3 of 8 each, the GPUs that hold 0 and 1, 2 and 3 as much: 1024. Buffers
  // have 384 rows for each of four experts from each of two GPUs: 1536.
  const LayerLoads loads{{3, 1, 1, 3}};
  const StepSettings dropless{.dispatch = ExpertDispatch::kDropless};
  const double router = 3 * kTokens * 2 * kHidden * 2 / kFlops;  // of two experts more
  const double counts = 0.5 * 4 * 2 * 2 / kLink;
  const double more = router + counts;
  check_seconds(timed(model.expert_parallel(2, {2}, loads)).step,
                passes_s(1536, 1.5) + reductions_s(plan, 0) + more);
  check_seconds(timed(model.expert_parallel(2, {2}, loads, dropless)).step,
                passes_s(1024, 1) + reductions_s(plan, 0) + more);
  // 7 of 8 for the GPU with 0 and 1: 1792 rows. The other one sends it 896 tokens, where 512 are the mean.
  check_seconds(timed(model.expert_parallel(2, {2}, LayerLoads{{6, 1, 1, 0}}, dropless)).step,
                passes_s(1792, 896.0 / 512) + reductions_s(plan, 0) + more);
}

TEST_CASE("moe step: replicas in redundant slots share the tokens of an expert, and add up its gradients") {
  const TrainingPlan plan = tiny_plan();
  const HandCost cost;
  const MoeStepModel model(plan, cost, BatchRule::kPerReplica);
  // Both experts on both GPUs: as a flexible placement of the same.
  const ExpertParallelGroup both{2, 1, {ExpertPlacement{2, 2, 2, {0, 1, 0, 1}}}};
  const StepSettings dropless{.dispatch = ExpertDispatch::kDropless};
  const double expert = parameters_of_expert(plan.model);
  check_seconds(timed(model.expert_parallel(2, both, LayerLoads{{5, 3}}, dropless)).step,
                passes_s(1024, 0) + reductions_s(plan, 2 * expert));
  // Padded: 5/8 of 2048 tokens, from two GPUs to two replicas, 320 rows each in four slots.
  check_seconds(timed(model.expert_parallel(2, both, LayerLoads{{5, 3}})).step,
                passes_s(1280, 1.25) + reductions_s(plan, 2 * expert));
}

TEST_CASE("moe step: groups with redundant slots need not fill whole nodes of a stage") {
  TrainingPlan plan = testing::small_plan();
  plan.model.layers = 4;
  plan.model.moe = MoeShape{.experts = 4, .top_k = 1, .expert_ffn = 2048};
  plan.cluster.gpus_per_node = 8;
  plan.cluster.nics_per_node = 8;
  plan.parallel.pp = 4;
  plan.parallel.dp = 16;
  plan.parallel.global_batch = 64;
  const RooflineCost cost(plan.cluster, plan.roofline);
  const MoeStepModel model(plan, cost, BatchRule::kPerReplica);
  const ExpertPlacement both{4, 4, 2, {0, 1, 1, 2, 2, 3, 3, 0}};
  const ExpertParallelGroup group{4, 1, {both, both, both, both}};
  // 12 GPUs a stage are three groups of four, one and a half nodes.
  CHECK(timed(model.expert_parallel(6, group, JobRouting::balanced(4, 4).loads(0))).samples == 48);
}

TEST_CASE("moe step: with balanced loads it makes no difference whether buffers are padded") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "padded and dropless");
    TrainingPlan plan = testing::small_plan();
    plan.model.layers = 4;
    plan.model.moe = MoeShape{.experts = 8, .top_k = 2, .expert_ffn = 2048};
    plan.cluster.gpus_per_node = 1 << random.below(4);
    plan.cluster.nics_per_node = 1;
    plan.parallel.pp = 1 << random.below(3);
    plan.parallel.tp = 1 << random.below(2);
    plan.parallel.sequence_parallel = true;
    plan.parallel.dp = 8;
    plan.parallel.global_batch = 64;
    const RooflineCost cost(plan.cluster, plan.roofline);
    const MoeStepModel model(plan, cost, BatchRule::kPerReplica);
    const std::int32_t ep = 1 << random.below(4);
    const std::int32_t nodes = model.usable_nodes(64, ep);
    const JobRouting balanced = JobRouting::balanced(4, 8);
    const StepTime padded = timed(model.expert_parallel(nodes, {ep}, balanced.loads(0)));
    const StepSettings dropless{.dispatch = ExpertDispatch::kDropless};
    CHECK(timed(model.expert_parallel(nodes, {ep}, balanced.loads(0), dropless)) == padded);
    // As does the plan's own step, where it counts GPUs as groups of experts do.
    if (plan.parallel.tp > 1 || ep > 8) continue;
    plan.parallel.ep = ep;
    CHECK(timed(MoeStepModel(plan, cost, BatchRule::kPerReplica).dense(nodes)) == padded);
  }
}

TEST_CASE(
    "moe step: expert parallelism with balanced loads is the plan's own step, and fills as much memory") {
  for (const std::int32_t zero : {0, 1, 2}) {
    TrainingPlan plan = shipped_plan("lazarus-gpt-s");
    plan.parallel.zero = zero;
    const RooflineCost cost(plan.cluster, plan.roofline);
    const MoeStepModel model(plan, cost, BatchRule::kPerReplica);
    // 10 x 4096 tokens over 8 experts: 512 of each GPU for each.
    const JobRouting balanced = JobRouting::balanced(12, 8);
    CHECK(timed(model.expert_parallel(10, {2}, balanced.loads(0))) == timed(model.dense(10)));
    const auto memory = model.expert_parallel_memory(10, {2});
    REQUIRE(memory);
    const auto own = estimate_memory(plan, **find_schedule("1f1b"));
    CHECK(memory->stages[0].total() == own.stages[0].total());
  }
}

TEST_CASE("moe step: policies use the plan's dispatcher") {
  TrainingPlan plan = shipped_plan("lazarus-gpt-l");
  const JobRouting balanced = JobRouting::balanced(12, 16);
  const auto step = [&](TokenDispatcher dispatcher, std::int32_t gpus_per_node) {
    TrainingPlan changed = plan;
    changed.parallel.dispatcher = dispatcher;
    changed.cluster.gpus_per_node = gpus_per_node;
    const RooflineCost cost(changed.cluster, changed.roofline);
    const MoeStepModel model(changed, cost, BatchRule::kPerReplica);
    return to_seconds(timed(model.expert_parallel(8 / gpus_per_node, {4}, balanced.loads(0))).step);
  };
  // Top-1: a token has one copy, whoever sends it, so that only sorting rows is left out.
  REQUIRE(plan.model.moe->top_k == 1);
  const double sorted = step(TokenDispatcher::kAllToAll, 1);
  CHECK(step(TokenDispatcher::kHierarchical, 1) < sorted);
  CHECK(step(TokenDispatcher::kHierarchical, 1) > 0.9 * sorted);
  // Top-4 on two nodes: a copy for each of two experts on the other node, or one for all.
  plan.model.moe->top_k = 4;
  CHECK(step(TokenDispatcher::kHierarchical, 2) < 0.9 * step(TokenDispatcher::kAllToAll, 2));
}

TEST_CASE("moe step: routing groups save traffic only if each has its experts on one node") {
  TrainingPlan plan = shipped_plan("lazarus-gpt-l");
  plan.model.moe->top_k = 4;
  plan.model.moe->expert_groups = 4;  // of 4 of the 16 experts
  plan.model.moe->top_groups = 1;
  plan.parallel.dispatcher = TokenDispatcher::kHierarchical;
  plan.cluster.gpus_per_node = 2;
  const RooflineCost cost(plan.cluster, plan.roofline);
  const MoeStepModel model(plan, cost, BatchRule::kPerReplica);
  // Groups of 4 GPUs on 2 nodes, with 4 slots per GPU.
  const auto layers = [](std::vector<std::int32_t> expert_at) {
    return std::vector<ExpertPlacement>(12, ExpertPlacement{16, 4, 4, std::move(expert_at)});
  };
  ExpertParallelGroup in_order{4, 0, layers({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})};
  ExpertParallelGroup swapped{4, 0, layers({0, 1, 2, 15, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 3})};
  CHECK(in_order.keeps_routing_groups(*plan.model.moe, 2));
  CHECK_FALSE(swapped.keeps_routing_groups(*plan.model.moe, 2));
  const JobRouting balanced = JobRouting::balanced(12, 16);
  const StepSettings dropless{.dispatch = ExpertDispatch::kDropless};
  const auto step = [&](const ExpertParallelGroup& group) {
    return timed(model.expert_parallel(4, group, balanced.loads(0), dropless)).step;
  };
  CHECK(step({4}) == step(in_order));
  CHECK(step(in_order) < step(swapped));
}

TEST_CASE("moe step: one lane of the busiest GPU takes as long as a lane for every GPU") {
  TrainingPlan plan = tiny_plan();
  plan.model.layers = 3;
  plan.model.moe =
      MoeShape{.experts = 8, .top_k = 2, .expert_ffn = 1024, .shared_experts = 1, .first_layer = 1};
  plan.model.mtp_layers = 1;
  plan.cluster.gpus_per_node = plan.parallel.tp = 2;
  plan.parallel.sequence_parallel = true;
  const RooflineCost cost(plan.cluster, plan.roofline);
  const MoeStepModel model(plan, cost, BatchRule::kPerReplica);
  const ExpertNodes nodes{4, 6, 2};
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const LayerLoads loads = testing::zipf_loads({2, 8, 1, seed});
    const auto placements = placed(loads, nodes);
    TrainingPlan on_gpus = plan;
    on_gpus.parallel.dp = 4;
    on_gpus.parallel.ep = 8;
    on_gpus.parallel.global_batch = 4;
    StepRouting routing;
    routing.slots = {3};
    std::vector<moe::ExpertHosts> hosts;
    routing.shares.emplace_back();                 // the first layer has no experts
    for (const std::size_t l : {0UL, 1UL, 1UL}) {  // multi-token prediction does as the last layer
      hosts.push_back(*hosts_of(placements[l], 2));
      const auto tokens = apportion(loads[l], 4 * 1024 * 2);
      const std::vector<GpuLoad> gpu_loads = *placed_loads(hosts.back(), 2, tokens);
      routing.shares.emplace_back();
      for (const GpuLoad& load : gpu_loads) {  // its own tokens, and the traffic of the busiest
        routing.shares.back().push_back(
            {static_cast<double>(load.computed), busiest_share(gpu_loads, 2, 1024).imbalance});
      }
    }
    routing.replicas = {busiest_replicas(hosts, LayerClasses::distinct(hosts.size()).by_layer(), 2)};
    const auto by_gpu = build_planned_step(on_gpus, cost, Granularity::kLayers, routing);
    REQUIRE_MESSAGE(by_gpu, (by_gpu ? "" : by_gpu.error().message()));
    CHECK(by_gpu->lanes.lanes() == 8);
    CHECK(timed(model.flexible(placements, loads)).step == step_time(*by_gpu));
  }
}

TEST_CASE("moe step: layers with the same loads may have one placement for all of them") {
  const TrainingPlan plan = shipped_plan("lazarus-gpt-l");
  const auto cost = make_cost_model(cost_inputs(plan));
  REQUIRE(cost);
  const MoeStepModel model(plan, **cost, BatchRule::kPerReplica);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    INFO("seed " << seed);
    LayerLoads loads = testing::zipf_loads({12, 16, 0.7, seed});
    for (std::size_t layer = 3; layer < 12; ++layer) loads[layer] = loads[layer * layer % (1 + seed % 3)];
    LayerClasses classes = LayerClasses::together(12);
    classes.part(loads);
    REQUIRE(classes.classes() <= 5);
    const ExpertNodes nodes{static_cast<std::int32_t>(5 + seed), 6, 1};
    const auto all = placed(loads, nodes);
    const auto of_classes = placed(classes.one_of_each(loads), nodes);
    CHECK(timed(model.flexible(of_classes, classes, loads)) == timed(model.flexible(all, loads)));
  }
}

TEST_CASE("moe step: passes that run in turn layer by layer take as long as in the graph of all layers") {
  for (const char* schedule : {"dualpipe", "dualpipev"}) {
    CAPTURE(schedule);
    TrainingPlan plan = testing::small_plan();
    plan.parallel.schedule = schedule;
    plan.parallel.pp = 4;
    plan.parallel.dp = 2;
    plan.parallel.global_batch = 32;
    const RooflineCost cost(plan.cluster, plan.roofline);
    const auto layers = build_planned_step(plan, cost, Granularity::kLayers, 0);
    REQUIRE(layers);
    std::vector<OpId> passes;
    for (OpId op = 0; op < layers->ops.size(); ++op) {
      if (is_pass(layers->ops[op].op.type)) passes.push_back(op);
    }
    TimingEngine timing(layers->graph, layers->lanes, passes, TimingEngine::Keep::kFinishTimes);
    timing.propagate(PlannedValues(*layers));
    const StepTime step = timed(MoeStepModel(plan, cost, BatchRule::kPerReplica).planned(plan.parallel));
    CHECK(step.step == step_time(*layers));
    CHECK(step.forward_backward == SimDuration{static_cast<std::int64_t>(timing.finish_times().front())});
  }
}

TEST_CASE("moe step: settings scale what they say") {
  const TrainingPlan plan = tiny_plan();
  const HandCost cost;
  const MoeStepModel model(plan, cost, BatchRule::kPerReplica);
  const LayerLoads loads = {{3, 1}};
  const StepTime plain = timed(model.expert_parallel(2, {2}, loads));
  const StepTime constant =
      timed(model.expert_parallel(2, {2}, loads, {.step_overhead = std::chrono::milliseconds{125}}));
  CHECK(constant.step == plain.step + std::chrono::milliseconds(125));
  CHECK(constant.forward_backward == plain.forward_backward);
  // Twice as fast: half of the experts' and the all-to-alls' time goes.
  const double experts = 3 * 1536 * 4 * kHidden * kFfn / kFlops;
  const double all_to_alls = 4 * 0.5 * 1.5 * 2 * kTokens * kHidden / kLink;
  const StepTime fast = timed(model.expert_parallel(2, {2}, loads, {.moe_speedup = 2}));
  check_seconds(plain.step - fast.step, (experts + all_to_alls) / 2);
  // At half speed all computation takes twice as long.
  const StepTime slow = timed(model.expert_parallel(2, {2}, loads, {.slowest_speed = 0.5}));
  check_seconds(slow.step - plain.step, passes_s(1536, 0) - 0.5 * 4 * 2 * 2 / kLink);
}

TEST_CASE("moe step: micro-batches repeat the passes, not the reductions") {
  TrainingPlan plan = tiny_plan();
  const HandCost cost;
  const StepTime one =
      timed(MoeStepModel(plan, cost, BatchRule::kPerReplica).expert_parallel(2, {2}, LayerLoads{{3, 1}}));
  plan.parallel.global_batch = 20;
  const StepTime twenty =
      timed(MoeStepModel(plan, cost, BatchRule::kPerReplica).expert_parallel(2, {2}, LayerLoads{{3, 1}}));
  CHECK(twenty.forward_backward == 20 * one.forward_backward);
  CHECK(twenty.step - twenty.forward_backward == one.step - one.forward_backward);
  CHECK(twenty.samples == 40);
}

TEST_CASE("moe step: nodes are used in whole groups, and what cannot be done is refused in one line") {
  const TrainingPlan plan = shipped_plan("lazarus-gpt-l");
  const HandCost cost;
  const MoeStepModel model(plan, cost, BatchRule::kPerReplica);
  CHECK(model.moe_layers() == 12);
  CHECK(model.usable_nodes(10, 4) == 8);
  CHECK(model.usable_nodes(3, 4) == 0);
  CHECK(model.usable_nodes(10, 2) == 10);
  const LayerLoads loads = testing::zipf_loads({12, 16, 1, 1});
  const auto refusal = [](const auto& result) { return result ? "" : result.error().message(); };
  TrainingPlan dense = testing::small_plan();
  CHECK(refusal(MoeStepModel(dense, cost, BatchRule::kPerReplica).flexible({}, loads)) ==
        "/model: has no experts; choose a model with experts");
  dense = tiny_plan();
  dense.parallel.pp = 2;
  dense.parallel.schedule = "dualpipe";
  CHECK(
      refusal(MoeStepModel(dense, cost, BatchRule::kPerReplica)
                  .flexible(std::vector{ExpertPlacement{2, 2, 1, {0, 1}}}, LayerLoads{{1, 1}})) ==
      "/parallel/schedule: is \"dualpipe\", which keeps each layer on two stages, but the experts of a layer "
      "are placed on the nodes of one; use another, such as zb-h1");
  dense = tiny_plan();
  dense.parallel.tp = 2;
  CHECK(refusal(
            MoeStepModel(dense, cost, BatchRule::kPerReplica).expert_parallel(4, {2}, LayerLoads{{1, 1}})) ==
        "/parallel/sequence_parallel: must be true because tp is 2 and does not split the experts");
  CHECK(refusal(model.expert_parallel(3, {4}, loads)) ==
        "3 nodes of 1 GPUs cannot hold one expert-parallel group of 4 GPUs");
  CHECK(refusal(model.expert_parallel(3, {3}, loads))
            .ends_with("lazarus-gpt-l.json /parallel/ep: is 3, which does not divide the 16 experts"));
  CHECK(refusal(model.expert_parallel(8, {4}, LayerLoads(11, loads[0]))) ==
        "loads: are for 11 layers, but the model has 12 layers with experts");
  CHECK(refusal(model.expert_parallel(8, {4}, LayerLoads(12, {1, 2}))) ==
        "loads: are for 2 experts, but the model has 16");
  CHECK(refusal(model.flexible({}, loads)) ==
        "placements: are for 0 layers, but the model has 12 layers with experts");
  auto placements = placed(loads, {10, 6, 1});
  placements[3].experts = 8;
  CHECK(refusal(model.flexible(placements, loads)) == "placements: are for 8 experts, but the model has 16");
  placements = placed(loads, {10, 6, 1});
  for (std::int32_t& e : placements[5].expert_at) e = e == 7 ? 8 : e;
  CHECK(refusal(model.flexible(placements, loads)).starts_with("expert 7: expert_lost: "));
  CHECK(refusal(model.dense(3)) == "3 nodes of 1 GPUs cannot hold one replica of 4 GPUs");
}

TEST_CASE("moe step: a dense step is the plan's own, with the replicas that fit") {
  TrainingPlan plan = testing::small_plan();
  plan.parallel.pp = 2;
  plan.parallel.tp = 4;
  plan.parallel.dp = 2;
  plan.parallel.global_batch = 16;
  const RooflineCost cost(plan.cluster, plan.roofline);
  const MoeStepModel model(plan, cost, BatchRule::kPerReplica);
  const StepTime two = timed(model.dense(2));
  const auto built = build_planned_step(plan, cost, Granularity::kOps, 0);
  REQUIRE(built);
  CHECK(two.step == step_time(*built));
  CHECK(two.samples == 16);
  CHECK(timed(model.dense(5)).samples == 40);
  CHECK(model.usable_nodes(5) == 5);
  ParallelPlan longer = plan.parallel;  // the same GPUs as one pipeline
  longer.pp = 4;
  longer.dp = 1;
  longer.global_batch = 8;
  CHECK(timed(model.planned(longer)).samples == 8);
  longer.pp = 3;
  CHECK(!model.planned(longer));
}

}  // namespace goodput
