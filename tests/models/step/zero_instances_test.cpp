// ZeRO within instances of replicas (ParallelPlan::zero_instances): who shares with whom, what it moves and
// what it takes up.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "models/step/gpu_parameters.h"
#include "models/step/memory_model.h"
#include "models/step/planned_step.h"
#include "models/step/step_costs.h"
#include "models/step/zero_groups.h"
#include "tests/support/random_plan.h"

namespace goodput {
namespace {

using testing::random_plan;
using testing::small_plan;

// Kernels take `kernel_s` a launch list, collectives `collective_s`; every call is written down.
class ListedCost final : public CostModel {
 public:
  ListedCost(double kernel_s, double collective_s) : kernel_s_(kernel_s), collective_s_(collective_s) {}

  [[nodiscard]] Cost kernels(std::span<const Kernel> /*sequence*/) const override { return {kernel_s_}; }
  [[nodiscard]] Cost collective(const CollectiveCall& call) const override {
    calls_.push_back(call);
    return {collective_s_};
  }
  // Calls of a kind between such GPUs.
  [[nodiscard]] std::vector<double> bytes_of(Collective kind, GpuGroup group) const {
    std::vector<double> bytes;
    for (const CollectiveCall& call : calls_) {
      if (call.kind == kind && call.group == group) bytes.push_back(call.bytes);
    }
    return bytes;
  }

 private:
  double kernel_s_;
  double collective_s_;
  mutable std::vector<CollectiveCall> calls_;
};

const PipelineSchedule& schedule_run_by(const TrainingPlan& plan) {
  const auto found = find_schedule(plan.parallel.schedule);
  REQUIRE(found);
  return **found;
}

StepCosts costs_of(const TrainingPlan& plan, const CostModel& cost) {
  const Status fine = check_training_plan(plan);
  REQUIRE_MESSAGE(fine, (fine ? "" : fine.error().message()));
  const StepRouting routing = drawn_routing(plan, 0);
  return compute_step_costs(plan, schedule_run_by(plan), cost, routing,
                            BlockPrices(plan, cost, routing, Granularity::kLayers));
}

ZeroGroups groups_of(const TrainingPlan& plan) {
  REQUIRE(check_training_plan(plan));
  return zero_groups(plan, schedule_run_by(plan), {});
}

// One stage, one micro-batch.
TrainingPlan sharded_plan(std::int32_t dp, std::int32_t zero, std::int32_t instances) {
  TrainingPlan plan = small_plan();
  plan.parallel.dp = dp;
  plan.parallel.zero = zero;
  plan.parallel.zero_instances = instances;
  plan.parallel.global_batch = dp;
  return plan;
}

double parameters(const TrainingPlan& plan) {
  const GpuParameters held = parameters_at(plan, {}, layers_by_position(plan, 1), 0);
  return held.dense + held.experts;
}

void check_same_memory(const MemoryReport& a, const MemoryReport& b) {
  REQUIRE(a.stages.size() == b.stages.size());
  for (std::size_t i = 0; i < a.stages.size(); ++i) CHECK(a.stages[i].total() == b.stages[i].total());
}

SimDuration copies_time(const TrainingPlan& plan) {
  const ListedCost cost(1e-6, 3e-6);
  const StepCosts costs = costs_of(plan, cost);
  SimDuration total{};
  for (const ChunkCosts& chunk : costs.chunks)
    total += chunk.gradient_reduction.time + chunk.params_gather.time;
  return total;
}

}  // namespace

TEST_CASE("zero instances: a shard is scattered in its instance, summed up between them, gathered in it") {
  // 16 replicas of one GPU in 4 instances, 8 GPUs a node: 4 GPUs of a node share, and 4 have the same shard,
  // 2 of them on each node.
  const TrainingPlan plan = sharded_plan(16, 1, 4);
  const ListedCost cost(1e-6, 1e-6);
  (void)costs_of(plan, cost);
  const double held = parameters(plan);
  const GpuGroup shards{4, 4}, instances{4, 2};
  CHECK(cost.bytes_of(Collective::kReduceScatter, shards) == std::vector<double>{4 * held});
  CHECK(cost.bytes_of(Collective::kAllReduce, instances) == std::vector<double>{4 * held / 4});
  CHECK(cost.bytes_of(Collective::kAllGather, shards) == std::vector<double>{2 * held});
  // A GPU sends (s-1)/s of the gradients, 2 (I-1)/I of its s-th of them, and (s-1)/s of the weights: with one
  // instance of 16 15/16 of both. 4 B a gradient, 2 B a weight.
  const double sent = 4 * held * 3 / 4 + 2 * (4 * held / 4) * 3 / 4 + 2 * held * 3 / 4;
  CHECK(sent == doctest::Approx(held * 6));
  CHECK(held * 6 > (4 + 2) * held * 15 / 16);
}

TEST_CASE("zero instances: an instance is consecutive replicas, so nodes of it and of a shard differ") {
  CHECK(groups_of(sharded_plan(16, 1, 1)).dense.shards == GpuGroup{16, 8});
  CHECK(groups_of(sharded_plan(16, 1, 1)).dense.instances == GpuGroup{1, 1});
  CHECK(groups_of(sharded_plan(32, 1, 2)).dense.shards == GpuGroup{16, 8});
  CHECK(groups_of(sharded_plan(32, 1, 2)).dense.instances == GpuGroup{2, 1});
  CHECK(groups_of(sharded_plan(16, 1, 16)).dense.shards == GpuGroup{1, 1});
  CHECK(groups_of(sharded_plan(16, 1, 16)).dense.instances == GpuGroup{16, 8});
  // Of three GPUs: the third instance has two on one node and one on the next.
  CHECK(groups_of(sharded_plan(24, 1, 8)).dense.shards == GpuGroup{3, 2});
  CHECK(groups_of(sharded_plan(24, 1, 8)).dense.instances == GpuGroup{8, 2});
  TrainingPlan pairs = sharded_plan(8, 1, 4);  // 2 replicas of 2 GPUs: half a node
  pairs.parallel.tp = 2;
  CHECK(groups_of(pairs).dense.shards == GpuGroup{2, 2});
  CHECK(groups_of(pairs).dense.instances == GpuGroup{4, 2});
  TrainingPlan experts = sharded_plan(16, 1, 4);
  experts.model.moe = MoeShape{.experts = 16, .top_k = 2, .expert_ffn = 512};
  experts.parallel.ep = 2;
  CHECK(groups_of(experts).experts.shards == GpuGroup{2, 2});
  CHECK(groups_of(experts).experts.instances == GpuGroup{4, 2});
}

TEST_CASE("zero instances: a GPU holds what it would if there were no other instance") {
  for (const std::int32_t zero : {1, 2, 3}) {
    CAPTURE(zero);
    const TrainingPlan four = sharded_plan(16, zero, 4);
    check_same_memory(estimate_memory(four, schedule_run_by(four)),
                      estimate_memory(sharded_plan(4, zero, 1), schedule_run_by(four)));
  }
  const TrainingPlan two = sharded_plan(4, 1, 2);
  CHECK(static_cast<double>(estimate_memory(two, schedule_run_by(two)).stages[0].optimizer.value) ==
        doctest::Approx(12 * parameters(two) / 2));
}

TEST_CASE("zero instances: of one GPU each they are no sharding at all") {
  // A scatter and a gather between one GPU are nothing, and what is summed up is whole: ZeRO-0, to the bit.
  std::int32_t compared = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    TrainingPlan plan = random_plan(seed);
    if (plan.parallel.schedule == "dualpipe" || plan.parallel.cp > 1 || plan.parallel.ep > 1) continue;
    if (plan.parallel.expert_tp() != plan.parallel.tp) continue;  // tp shards experts, too
    CAPTURE(seed);
    plan.parallel.zero = 1;
    plan.parallel.zero_instances = plan.parallel.dp;
    TrainingPlan whole = plan;
    whole.parallel.zero = 0;
    CHECK(copies_time(plan) == copies_time(whole));
    check_same_memory(estimate_memory(plan, schedule_run_by(plan)),
                      estimate_memory(whole, schedule_run_by(whole)));
    ++compared;
  }
  CHECK(compared > 20);
}

TEST_CASE("zero instances: without ZeRO they change nothing") {
  TrainingPlan plan = sharded_plan(16, 0, 1);
  const SimDuration time = copies_time(plan);
  plan.parallel.zero_instances = 4;
  CHECK(copies_time(plan) == time);
  check_same_memory(estimate_memory(plan, schedule_run_by(plan)),
                    estimate_memory(sharded_plan(16, 0, 1), schedule_run_by(plan)));
}

TEST_CASE("zero instances: with ZeRO-3 gradients are summed up between them once a step") {
  TrainingPlan plan = sharded_plan(16, 3, 4);
  plan.parallel.global_batch = 64;  // four micro-batches, each of which scatters
  const ListedCost cost(1e-6, 1e-6);
  (void)costs_of(plan, cost);
  const std::vector<double> sums = cost.bytes_of(Collective::kAllReduce, {4, 2});
  REQUIRE(sums.size() == 2);  // embedding and head; all layers
  CHECK(sums[0] + sums[1] == doctest::Approx(4 * parameters(plan) / 4));
}

TEST_CASE("zero instances: sums between them run behind the backward pass, but for the last bucket") {
  TrainingPlan plan = sharded_plan(16, 1, 4);
  const auto reduction = [&plan](double kernel_s) {
    const ListedCost cost(kernel_s, 8e-6);
    return costs_of(plan, cost).chunks[0].gradient_reduction.time;
  };
  CHECK(reduction(1) == std::chrono::microseconds{16});  // a scatter and a sum
  plan.parallel.overlap_grad_reduce = true;
  CHECK(reduction(1) == std::chrono::microseconds{2});  // of 8 layers one's share
  plan.parallel.zero = 3;
  // Embedding and head, scattered and summed up, and the sums of the layers: an eighth of each.
  CHECK(reduction(1) == std::chrono::microseconds{3});
  // Kernels that take no time hide nothing; and the links that scatter and gather shards are not free.
  CHECK(reduction(0) >= std::chrono::microseconds{8});
}

}  // namespace goodput
