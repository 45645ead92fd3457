#include "tools/placement/placement_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/placement_search/best_plan.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

constexpr std::int32_t kMaxProvenNodes = 4096;  // proving takes time in the square of them

Result<PlacedLayers> place(const PlacementRequest& request) {
  if (!request.layers.front().replicas.empty()) {
    const std::vector<LayerDemand> layers = {{request.layers.front().replicas, {}}};
    return place_replicas(layers, request.nodes, request.choice.rule, request.choice.effort);
  }
  std::vector<std::vector<std::int64_t>> loads;
  for (const RequestedLayer& layer : request.layers) loads.push_back(layer.loads);
  return place_experts(loads, request.nodes, request.choice);
}

// Untruncated layers that together survive as often as the weakest of them can, however many nodes fail.
bool is_proven(const std::vector<LayerDemand>& layers, const NodeSets& sets, const SlotGrid& grid) {
  for (const LayerDemand& layer : layers) {
    if (!is_untruncated(layer, grid)) return false;
  }
  if (grid.nodes > kMaxProvenNodes) return false;
  const auto survived = survival_by_recursion(sets, grid.nodes, SurvivalOptions{}.max_states);
  if (!survived) return false;
  const std::vector<double> bound = survival_bound(layers, grid, grid.nodes);
  for (std::size_t k = 0; k < bound.size(); ++k) {
    if ((*survived)[k] < bound[k] - kSameProbability) return false;
  }
  return true;
}

std::optional<RepeatedSlots> find_repeated(const PlacedLayers& placed, std::int32_t gpus_per_node) {
  std::vector<ExpertPlacement> gpus;
  for (const PlacedLayer& layer : placed.layers)
    gpus.push_back(split_over_gpus(layer.placement, layer.layer, gpus_per_node));
  return repeated_slots(gpus);
}

std::string describe_repeated(const RepeatedSlots& repeated, const PlacementRequest& request) {
  const RequestedLayer& layer = request.layers[repeated.layer];
  std::string text = fmt::format(
      "{} of {} slots repeat{} an expert that the same GPU already holds, which wastes memory; the first is "
      "expert {} on GPU {} (node {}) in layer {}",
      repeated.slots, repeated.of, repeated.slots == 1 ? "s" : "", layer.experts[index(repeated.expert)],
      repeated.gpu, repeated.gpu / request.nodes.gpus, layer.layer);
  if (request.nodes.gpus == 1) text += "; if a node has more than one GPU, give --gpus-per-node";
  return text;
}

}  // namespace

Result<PlacementReport> place_as_requested(PlacementRequest request, std::uint64_t seed) {
  request.choice.effort.seed = seed;
  GOODPUT_TRY(PlacedLayers placed, place(request));
  PlacementReport report;
  const std::vector<LayerDemand> layers = demands_of(placed.layers);
  const NodeSets sets = deciding_sets(placements_of(placed.layers));
  SurvivalOptions options;
  options.seed = seed;
  const std::vector<Survival> curve = survival(sets, 0, request.failures.back(), options);
  for (const std::int32_t k : request.failures) report.survival.push_back(curve[static_cast<std::size_t>(k)]);
  report.bound = survival_bound(layers, request.nodes.grid(), request.failures.back());
  report.proven = is_proven(layers, sets, request.nodes.grid());
  for (const PlacedLayer& layer : placed.layers) {
    report.balance.push_back(
        layer.layer.loads.empty()
            ? std::nullopt
            : std::optional(load_imbalance(layer.placement, layer.layer, request.nodes.gpus)));
  }
  const bool given = !request.layers.front().replicas.empty();
  if (!given && placed.min_replicas < request.choice.min_replicas) {
    request.notes.push_back(
        fmt::format("--min-replicas lowered from {} to {}: {} experts x {} replicas need more "
                    "than {} slots",
                    request.choice.min_replicas, placed.min_replicas, request.layers.front().experts.size(),
                    request.choice.min_replicas, request.nodes.grid().total()));
  }
  report.repeated = find_repeated(placed, request.nodes.gpus);
  if (report.repeated) request.notes.push_back(describe_repeated(*report.repeated, request));
  report.placed = std::move(placed);
  report.request = std::move(request);
  return report;
}

std::optional<LoadImbalance> worst_imbalance(const PlacementReport& report) {
  std::optional<LoadImbalance> worst;
  for (const std::optional<LoadImbalance>& balance : report.balance) {
    if (!balance) continue;
    if (!worst) worst = LoadImbalance{};
    worst->node_max_over_mean = std::max(worst->node_max_over_mean, balance->node_max_over_mean);
    worst->gpu_max_over_mean = std::max(worst->gpu_max_over_mean, balance->gpu_max_over_mean);
  }
  return worst;
}

}  // namespace goodput
