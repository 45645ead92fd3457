// Allocation and placement, Zipf loads (s = 1) in an order of their own in every layer.
//   layer/<allocation>  256 experts on 128 nodes x 32 slots: replicas, `best` and survival of one number of
//   failures;
//                       0: eq1, 2: balanced
//   mro                 the same layer, replicas given: maximum rank overlap alone
//   layers              58 such layers: replicas and `best`
//   default/<experts>   12 layers on 10 nodes x 6 slots: everything `balanced` with `best` does
//   truncated/<nodes>   one layer of 9 experts on nodes x 4 slots, its last group cut short: `best`
//   recursion           survival of 58 layers of maximum rank overlap, 1 to 6 failures
#include <benchmark/benchmark.h>

#include <utility>
#include <vector>

#include "models/placement/survival.h"
#include "models/placement_search/best_plan.h"
#include "models/placement_search/place_experts.h"
#include "tests/support/placement_case.h"

namespace goodput::testing {
namespace {

constexpr SlotGrid kLargeGrid{128, 32};
constexpr std::size_t kLargeExperts = 256;

std::vector<LayerDemand> demands(const LayerLoads& loads, const SlotGrid& grid, Allocation allocation) {
  std::vector<LayerDemand> layers;
  for (const auto& layer : loads) {
    auto counts = allocate_replicas(allocation, layer, grid, 2);
    GOODPUT_CHECK(counts.has_value(), "experts fit into the slots");
    layers.push_back({std::move(counts->replicas), layer});
  }
  return layers;
}

void place_layer(benchmark::State& state) {
  const LayerLoads loads = zipf_loads({1, kLargeExperts, 1, 1});
  for (auto _ : state) {
    const auto layers = demands(loads, kLargeGrid, static_cast<Allocation>(state.range(0)));
    const auto placements = place_best(layers, kLargeGrid);
    benchmark::DoNotOptimize(survival(deciding_sets(placements), 4, 4).front().probability);
  }
}

void place_by_overlap(benchmark::State& state) {
  const auto layers = demands(zipf_loads({1, kLargeExperts, 1, 1}), kLargeGrid, Allocation::kEq1);
  for (auto _ : state) benchmark::DoNotOptimize(place_mro(layers.front(), kLargeGrid).expert_at.data());
}

void place_layers(benchmark::State& state) {
  const LayerLoads loads = zipf_loads({58, kLargeExperts, 1, 1});
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        place_best(demands(loads, kLargeGrid, Allocation::kBalanced), kLargeGrid).data());
  }
}

void place_by_default(benchmark::State& state) {
  const LayerLoads loads = zipf_loads({12, static_cast<std::size_t>(state.range(0)), 1, 1});
  for (auto _ : state) {
    const auto placed = place_experts(loads, {10, 6, 1}, {});
    benchmark::DoNotOptimize(placed->layers.data());
  }
}

void place_truncated(benchmark::State& state) {
  const SlotGrid grid{static_cast<std::int32_t>(state.range(0)), 4};
  const auto layers = demands(zipf_loads({1, 9, 0.3, 1}), grid, Allocation::kEq1);
  GOODPUT_CHECK(!is_untruncated(layers.front(), grid), "the last group is cut short");
  for (auto _ : state) benchmark::DoNotOptimize(place_best(layers, grid).data());
}

void find_survival(benchmark::State& state) {
  std::vector<ExpertPlacement> placements;
  for (const LayerDemand& layer :
       demands(zipf_loads({58, kLargeExperts, 1, 1}), kLargeGrid, Allocation::kEq1)) {
    placements.push_back(place_mro(layer, kLargeGrid));
  }
  for (auto _ : state) benchmark::DoNotOptimize(survival(deciding_sets(placements), 1, 6).data());
}

BENCHMARK(place_layer)->Name("layer")->Arg(0)->Arg(2)->Unit(benchmark::kMillisecond);
BENCHMARK(place_by_overlap)->Name("mro")->Unit(benchmark::kMillisecond);
BENCHMARK(place_layers)->Name("layers")->Unit(benchmark::kMillisecond);
BENCHMARK(place_by_default)->Name("default")->Arg(8)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(place_truncated)->Name("truncated")->Arg(10)->Arg(14)->Arg(30)->Unit(benchmark::kMillisecond);
BENCHMARK(find_survival)->Name("recursion")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace goodput::testing

BENCHMARK_MAIN();
