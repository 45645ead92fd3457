// One step time of a job on the nodes it has left, from its operation graph. Zipf loads, Eq. 1 with maximum
// rank overlap; placing is not counted.
//   flexible/<nodes>         GPT-S, 6 slots a node
//   expert_parallel/<nodes>  GPT-S, groups of 2
//   deepseek/<nodes>         DeepSeek-V3, nodes of 8 GPUs of 4 slots: flexible
//   dispatch/<nodes>         of it, one layer's tokens on all GPUs
//   replicas/<nodes>         and the replicas that the busiest GPU shares with others, all layers
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>

#include "models/cost/cost_models.h"
#include "models/job/job_step.h"
#include "models/job/placed_load.h"
#include "models/placement/gpu_slots.h"
#include "models/placement/layer_classes.h"
#include "models/placement_search/place_experts.h"
#include "models/routing/job_routing.h"
#include "sim/base/apportion.h"
#include "tests/support/placement_case.h"

namespace goodput::testing {
namespace {

// A model on its machines, with loads.
class Job {
 public:
  Job(const std::string& name, double skew)
      : plan_(read(name)),
        cost_(std::move(*make_cost_model(cost_inputs(plan_)))),
        model_(plan_, *cost_, BatchRule::kPerReplica) {
    const auto layers = static_cast<std::size_t>(model_.moe_layers());
    loads_ = zipf_loads({layers, static_cast<std::size_t>(plan_.model.moe->experts), skew, 1});
  }

  [[nodiscard]] std::vector<ExpertPlacement> placed(const ExpertNodes& nodes) const {
    PlacementChoice choice;
    choice.allocation = Allocation::kEq1;
    choice.rule = PlacementRule::kMro;
    const auto layers = place_experts(loads_, nodes, choice);
    GOODPUT_CHECK(layers.has_value(), "experts fit into the slots");
    std::vector<ExpertPlacement> placements;
    for (const PlacedLayer& layer : layers->layers)
      placements.push_back(in_order_of_gpus(layer.placement, layer.layer, nodes.gpus));
    return placements;
  }

  [[nodiscard]] const MoeStepModel& model() const { return model_; }
  [[nodiscard]] const LayerLoads& loads() const { return loads_; }

 private:
  static TrainingPlan read(const std::string& name) {
    auto plan = read_training_plan(GOODPUT_CONFIGS "/plans/" + name + ".json");
    GOODPUT_CHECK(plan.has_value(), "the shipped plan can be read");
    return *std::move(plan);
  }

  TrainingPlan plan_;
  std::unique_ptr<CostModel> cost_;
  MoeStepModel model_;
  LayerLoads loads_;
};

void step_flexibly(benchmark::State& state, const Job& job, ExpertNodes nodes) {
  nodes.nodes = static_cast<std::int32_t>(state.range(0));
  const auto placements = job.placed(nodes);
  for (auto _ : state) benchmark::DoNotOptimize(job.model().flexible(placements, job.loads())->step);
}

void step_of_gpt(benchmark::State& state) {
  step_flexibly(state, Job("lazarus-gpt-s", 1), {0, 6, 1});
}

void step_of_deepseek(benchmark::State& state) {
  step_flexibly(state, Job("lazarus-deepseek-v3-512", 0.5), {0, 32, 8});
}

void step_in_groups(benchmark::State& state) {
  const Job job("lazarus-gpt-s", 1);
  const auto nodes = static_cast<std::int32_t>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(job.model().expert_parallel(nodes, {2}, job.loads())->step);
}

void dispatch_layer(benchmark::State& state) {
  const Job job("lazarus-deepseek-v3-512", 0.5);
  const auto nodes = static_cast<std::int32_t>(state.range(0));
  const auto hosts = hosts_of(job.placed({nodes, 32, 8}).front(), 8);
  const auto tokens = apportion(job.loads().front(), std::int64_t{nodes} * 4096 * 8);
  for (auto _ : state) benchmark::DoNotOptimize(placed_loads(*hosts, 8, tokens)->data());
}

void find_replicas(benchmark::State& state) {
  const Job job("lazarus-deepseek-v3-512", 0.5);
  std::vector<moe::ExpertHosts> hosts;
  for (const ExpertPlacement& placement : job.placed({static_cast<std::int32_t>(state.range(0)), 32, 8}))
    hosts.push_back(*hosts_of(placement, 8));
  const LayerClasses each = LayerClasses::distinct(hosts.size());
  for (auto _ : state) benchmark::DoNotOptimize(busiest_replicas(hosts, each.by_layer(), 8).data());
}

BENCHMARK(step_of_gpt)->Name("flexible")->Arg(5)->Arg(10)->Arg(32)->Unit(benchmark::kMicrosecond);
BENCHMARK(step_in_groups)->Name("expert_parallel")->Arg(10)->Arg(32)->Unit(benchmark::kMicrosecond);
BENCHMARK(step_of_deepseek)->Name("deepseek")->Arg(32)->Arg(128)->Unit(benchmark::kMillisecond);
BENCHMARK(dispatch_layer)->Name("dispatch")->Arg(128)->Unit(benchmark::kMicrosecond);
BENCHMARK(find_replicas)->Name("replicas")->Arg(128)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace goodput::testing

BENCHMARK_MAIN();
