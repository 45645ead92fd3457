// The re-placement of 58 MoE layers of 256 experts (DeepSeek-V3) after a node of 32 slots died, Eq. 1 and
// maximum rank overlap before and after, Zipf loads in an order of their own in every layer; by nodes left.
//   place/<nodes>        replicas and placement of all layers
//   costs/<nodes>        which experts every node holds, and what it would have to fetch for every place
//   map/<rule>/<nodes>   0: greedy, 1: optimal
//   transfers/<nodes>    who sends what to whom
//   replace/<rule>/<nodes>  all of it
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "models/migration/expert_migration.h"
#include "models/placement/placement_rules.h"
#include "models/placement/replica_allocation.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

constexpr std::size_t kLayers = 58;
constexpr std::size_t kExperts = 256;
constexpr std::int32_t kSlots = 32;

using Loads = std::vector<std::vector<std::int64_t>>;  // by layer and expert

Loads zipf_loads() {
  Loads loads(kLayers, std::vector<std::int64_t>(kExperts));
  RandomStream random(1, "loads");
  for (auto& layer : loads) {
    for (std::size_t e = 0; e < kExperts; ++e) {
      layer[e] = std::llround(1e6 / static_cast<double>(e + 1));
      std::swap(layer[e], layer[random.below(e + 1)]);
    }
  }
  return loads;
}

std::vector<ExpertPlacement> place(const Loads& loads, std::int32_t nodes) {
  std::vector<ExpertPlacement> layers;
  const SlotGrid grid{nodes, kSlots};
  for (const auto& layer : loads) {
    auto counts = allocate_replicas(Allocation::kEq1, layer, grid, 2);
    GOODPUT_CHECK(counts.has_value(), "experts fit into the slots");
    layers.push_back(place_mro({std::move(counts->replicas), layer}, grid));
  }
  return layers;
}

// One node more than `nodes` held experts; the one in the middle died.
struct Case {
  explicit Case(std::int64_t nodes) : left(static_cast<std::int32_t>(nodes)) {
    placed.node_ids.resize(static_cast<std::size_t>(left) + 1);
    std::iota(placed.node_ids.begin(), placed.node_ids.end(), 0);
    live = placed.node_ids;
    live.erase(live.begin() + left / 2);
  }

  std::int32_t left;
  Loads loads = zipf_loads();
  ClusterPlacement placed{place(loads, left + 1), {}};
  std::vector<ExpertPlacement> plan = place(loads, left);
  std::vector<std::int32_t> live{};
};

MappingRule rule_of(std::int64_t number) {
  return number == 0 ? MappingRule::kGreedy : MappingRule::kOptimal;
}

MappingCosts costs_of(const Case& nodes) {
  return newly_assigned_experts(NodeExperts(nodes.placed, nodes.live), NodeExperts(nodes.plan));
}

void place_layers(benchmark::State& state) {
  const Case nodes(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(place(nodes.loads, nodes.left).data());
}

void find_costs(benchmark::State& state) {
  const Case nodes(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(costs_of(nodes).costs.data());
}

void map_places(benchmark::State& state) {
  const MappingCosts costs = costs_of(Case(state.range(1)));
  const MappingRule rule = rule_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(map_nodes(costs, rule).cost);
  state.counters["newly assigned"] = static_cast<double>(map_nodes(costs, rule).cost);
}

void find_transfers(benchmark::State& state) {
  const Case nodes(state.range(0));
  const NodeExperts held(nodes.placed, nodes.live);
  const NodeExperts plan(nodes.plan);
  const NodeMapping mapping = greedy_mapping(newly_assigned_experts(held, plan));
  std::vector<NodeTraffic> traffic;
  for (auto _ : state) {
    const ExpertMoves found = plan_transfers(held, plan, mapping.physical_of);
    traffic = node_traffic(found.transfers, held.nodes());
    benchmark::DoNotOptimize(traffic.data());
  }
  state.counters["transfers"] = static_cast<double>(mapping.cost);
  state.counters["busiest sends"] =
      static_cast<double>(std::ranges::max(traffic, {}, &NodeTraffic::sent).sent);
  state.counters["busiest receives"] =
      static_cast<double>(std::ranges::max(traffic, {}, &NodeTraffic::received).received);
}

void replace_experts(benchmark::State& state) {
  const Case nodes(state.range(1));
  for (auto _ : state) {
    const Migration migration =
        migrate(nodes.placed, nodes.live, place(nodes.loads, nodes.left), rule_of(state.range(0)));
    benchmark::DoNotOptimize(migration.newly_assigned);
  }
}

BENCHMARK(place_layers)->Name("place")->Arg(128)->Unit(benchmark::kMillisecond);
BENCHMARK(find_costs)->Name("costs")->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond);
BENCHMARK(map_places)->Name("map")->ArgsProduct({{0, 1}, {128, 512}})->Unit(benchmark::kMillisecond);
BENCHMARK(find_transfers)->Name("transfers")->Arg(128)->Unit(benchmark::kMillisecond);
BENCHMARK(replace_experts)->Name("replace")->ArgsProduct({{0, 1}, {128}})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace goodput

BENCHMARK_MAIN();
