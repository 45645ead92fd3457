#include "tests/support/placement_case.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <utility>

#include "models/placement/node_sets.h"
#include "models/placement/survival.h"
#include "traces/routing/routing_reader.h"

namespace goodput::testing {
namespace {

constexpr std::size_t kPublishedLayers = 12;

std::vector<std::int64_t> most_loaded(std::span<const std::int64_t> loads, std::size_t experts) {
  std::vector<std::size_t> order(loads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [loads](std::size_t a, std::size_t b) { return loads[a] > loads[b]; });
  order.resize(experts);
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> most;
  for (const std::size_t e : order) most.push_back(loads[e]);
  return most;
}

}  // namespace

std::optional<LayerLoads> published_loads(std::int64_t iteration, std::size_t experts) {
  const auto path =
      std::filesystem::path(GOODPUT_SHARED_DATA) / "routing" / "smartmoe_expert_load_agg.csv.gz";
  if (!std::filesystem::exists(path)) return std::nullopt;
  const Result<RoutingTrace> trace = read_routing_trace(path.string());
  GOODPUT_CHECK(trace.has_value(), "the published trace can be read");
  const std::size_t at = trace->index_at(iteration);
  GOODPUT_CHECK(trace->iterations()[at] == iteration, "the iteration was recorded");
  LayerLoads loads;
  for (std::size_t layer = 0; layer < kPublishedLayers; ++layer) {
    loads.push_back(most_loaded(trace->loads(at, layer), experts));
  }
  return loads;
}

LayerLoads zipf_loads(const ZipfLoads& spec) {
  LayerLoads loads(spec.layers, std::vector<std::int64_t>(spec.experts));
  RandomStream random(spec.seed, "zipf loads");
  for (auto& layer : loads) {
    for (std::size_t e = 0; e < spec.experts; ++e) {
      layer[e] = std::llround(1e6 * std::pow(static_cast<double>(e + 1), -spec.skew));
      std::swap(layer[e], layer[random.below(e + 1)]);
    }
  }
  return loads;
}

std::vector<std::int32_t> random_replicas_of(RandomStream& random, const SlotGrid& grid,
                                             std::int32_t experts) {
  std::vector<std::int32_t> replicas(static_cast<std::size_t>(experts), 1);
  for (std::int64_t left = grid.total() - experts; left > 0; --left)
    ++replicas[random.below(replicas.size())];
  return replicas;
}

reference::SurvivedSets survived_sets(const ExpertPlacement& placement) {
  std::vector<std::uint32_t> nodes_of(static_cast<std::size_t>(placement.experts));
  for (std::int32_t n = 0; n < placement.nodes; ++n) {
    for (const std::int32_t e : placement.node(n)) nodes_of[static_cast<std::size_t>(e)] |= 1U << n;
  }
  return reference::survived_sets(nodes_of, placement.nodes);
}

std::vector<double> exact_survival(std::span<const ExpertPlacement> layers) {
  const NodeSets sets = deciding_sets(layers);
  auto survived = survival_by_recursion(sets, sets.nodes(), std::size_t{1} << 20);
  GOODPUT_CHECK(survived.has_value(), "the recursion takes few states");
  return *std::move(survived);
}

}  // namespace goodput::testing
