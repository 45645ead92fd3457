#include "models/moe_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "models/balanced_layers.h"
#include "models/moe_balance.h"
#include "sim/did_you_mean.h"

namespace goodput {
namespace {

Status check_nodes(const ExpertNodes& nodes) {
  if (nodes.gpus < 1) return Error{"", fmt::format("{} GPUs on a node, want at least 1", nodes.gpus)};
  if (nodes.slots % nodes.gpus != 0) {
    return Error{
        "", fmt::format("{} slots do not divide evenly over the {} GPUs of a node", nodes.slots, nodes.gpus)};
  }
  return Ok{};
}

std::vector<ExpertPlacement> place_by(PlacementPlan plan, std::span<const LayerDemand> layers,
                                      const ExpertNodes& nodes, const SearchEffort& effort) {
  if (plan == PlacementPlan::kBest) return place_best(layers, nodes.grid(), effort);
  std::vector<ExpertPlacement> placements;
  for (const LayerDemand& layer : layers) {
    switch (plan) {
      case PlacementPlan::kMro:
        placements.push_back(place_mro(layer, nodes.grid()));
        break;
      case PlacementPlan::kSpread:
        placements.push_back(place_spread(layer, nodes.grid()));
        break;
      case PlacementPlan::kCompact:
        placements.push_back(place_compact(layer, nodes.grid()));
        break;
      case PlacementPlan::kEplb:
        placements.push_back(place_eplb(layer, nodes.grid(), nodes.gpus));
        break;
      case PlacementPlan::kBest:
        break;
    }
  }
  return placements;
}

Result<PlacedLayers> allocate_and_place(std::span<const std::vector<std::int64_t>> loads,
                                        const ExpertNodes& nodes, const PlacementChoice& choice) {
  std::vector<LayerDemand> layers;
  PlacedLayers placed;
  for (const std::vector<std::int64_t>& of_layer : loads) {
    GOODPUT_TRY(ReplicaCounts counts,
                allocate_replicas(choice.allocation, of_layer, nodes.grid(), choice.min_replicas));
    placed.min_replicas = counts.min_replicas;
    layers.push_back({std::move(counts.replicas), of_layer});
  }
  std::vector<ExpertPlacement> placements = place_by(choice.plan, layers, nodes, choice.effort);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    placed.layers.push_back({std::move(layers[l]), std::move(placements[l])});
  }
  return placed;
}

void shift(PlacedLayers& placed, const ExpertNodes& nodes, const PlacementChoice& choice) {
  std::vector<ExpertPlacement> placements = placements_of(placed.layers);
  std::vector<LayerDemand> layers;
  for (const PlacedLayer& layer : placed.layers) layers.push_back(layer.layer);
  shift_replicas(placements, layers, placed.min_replicas, nodes.gpus, choice.effort);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    placed.layers[l] = {std::move(layers[l]), std::move(placements[l])};
  }
}

double busiest(const PlacedLayer& placed, const ExpertNodes& nodes) {
  return placement_balance(placed.placement, placed.layer, nodes.gpus).gpu_max_over_mean;
}

double mean_busiest(const PlacedLayers& placed, const ExpertNodes& nodes) {
  double sum = 0;
  for (const PlacedLayer& layer : placed.layers) sum += busiest(layer, nodes);
  return sum / static_cast<double>(placed.layers.size());
}

// In every layer.
bool is_more_even(const PlacedLayers& placed, const PlacedLayers& than, const ExpertNodes& nodes) {
  for (std::size_t l = 0; l < placed.layers.size(); ++l) {
    if (busiest(placed.layers[l], nodes) >= busiest(than.layers[l], nodes)) return false;
  }
  return true;
}

}  // namespace

Result<PlacementPlan> parse_placement_plan(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames = {"mro", "best", "spread", "compact", "eplb"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<PlacementPlan>(i);
  }
  return Error{"", fmt::format("no placement plan {}{}; known: {}", quoted(name), did_you_mean(name, kNames),
                               fmt::join(kNames, ", "))};
}

Result<PlacedLayers> place_experts(std::span<const std::vector<std::int64_t>> loads, const ExpertNodes& nodes,
                                   const PlacementChoice& choice) {
  GOODPUT_TRY_STATUS(check_nodes(nodes));
  GOODPUT_TRY(PlacedLayers placed, allocate_and_place(loads, nodes, choice));
  if (choice.allocation != Allocation::kBalanced || choice.plan != PlacementPlan::kBest) return placed;
  if (nodes.grid().total() > static_cast<std::int64_t>(kMaxShiftedSlots)) return placed;
  shift(placed, nodes, choice);

  // Where the proportions of Eq. 1 are hard to better, start from them.
  PlacementChoice eq1 = choice;
  eq1.allocation = Allocation::kEq1;
  eq1.plan = PlacementPlan::kMro;
  GOODPUT_TRY(const PlacedLayers baseline, allocate_and_place(loads, nodes, eq1));
  if (is_more_even(placed, baseline, nodes)) return placed;
  eq1.plan = PlacementPlan::kBest;
  GOODPUT_TRY(PlacedLayers other, allocate_and_place(loads, nodes, eq1));
  shift(other, nodes, choice);
  const bool better = mean_busiest(other, nodes) < mean_busiest(placed, nodes) &&
                      survives_as_often(placements_of(other.layers), placements_of(placed.layers));
  return better ? other : placed;
}

Result<PlacedLayers> place_replicas(std::span<const LayerDemand> layers, const ExpertNodes& nodes,
                                    PlacementPlan plan, const SearchEffort& effort) {
  GOODPUT_TRY_STATUS(check_nodes(nodes));
  PlacedLayers placed;
  for (const LayerDemand& layer : layers) {
    GOODPUT_TRY_STATUS(check_replicas(layer.replicas, nodes.grid()));
    const std::int32_t least = *std::min_element(layer.replicas.begin(), layer.replicas.end());
    placed.min_replicas = placed.layers.empty() ? least : std::min(placed.min_replicas, least);
    placed.layers.push_back({layer, {}});
  }
  std::vector<ExpertPlacement> placements = place_by(plan, layers, nodes, effort);
  for (std::size_t l = 0; l < layers.size(); ++l) placed.layers[l].placement = std::move(placements[l]);
  return placed;
}

std::vector<ExpertPlacement> placements_of(std::span<const PlacedLayer> layers) {
  std::vector<ExpertPlacement> placements;
  for (const PlacedLayer& placed : layers) placements.push_back(placed.placement);
  return placements;
}

}  // namespace goodput
