#include "models/placement_search/place_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "models/placement/eplb_groups.h"
#include "models/placement/gpu_slots.h"
#include "models/placement_search/layer_balance.h"

namespace goodput {
namespace {

Status check_nodes(const ExpertNodes& nodes) {
  if (nodes.gpus < 1) return Error{fmt::format("GPUs per node must be 1 or more, not {}", nodes.gpus)};
  if (nodes.slots % nodes.gpus != 0) {
    return Error{fmt::format("{} slots per node do not divide evenly among the {} GPUs of a node",
                             nodes.slots, nodes.gpus)};
  }
  return Ok{};
}

Status check_layers(std::span<const std::vector<std::int64_t>> loads) {
  if (loads.empty()) return Error{"there are no layers to place"};
  for (const std::vector<std::int64_t>& layer : loads) {
    if (layer.size() == loads.front().size()) continue;
    return Error{
        fmt::format("one layer has {} experts and another has {}; all layers must have the same number",
                    loads.front().size(), layer.size())};
  }
  return Ok{};
}

std::vector<ExpertPlacement> place_by(PlacementRule rule, std::span<const LayerDemand> layers,
                                      const ExpertNodes& nodes, const SearchEffort& effort) {
  if (rule == PlacementRule::kBest) return place_best(layers, nodes.grid(), effort, nodes.gpus);
  std::vector<ExpertPlacement> placements;
  for (const LayerDemand& layer : layers) {
    switch (rule) {
      case PlacementRule::kMro:
        placements.push_back(place_mro(layer, nodes.grid()));
        break;
      case PlacementRule::kSpread:
        placements.push_back(place_spread(layer, nodes.grid()));
        break;
      case PlacementRule::kCompact:
        placements.push_back(place_compact(layer, nodes.grid()));
        break;
      case PlacementRule::kEplb:
        placements.push_back(place_eplb(layer, nodes.grid(), nodes.gpus));
        break;
      case PlacementRule::kBest:
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
  std::vector<ExpertPlacement> placements = place_by(choice.rule, layers, nodes, choice.effort);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    placed.layers.push_back({std::move(layers[l]), std::move(placements[l])});
  }
  return placed;
}

Result<PlacedLayers> place_by_group(std::span<const std::vector<std::int64_t>> loads,
                                    const ExpertNodes& nodes, const PlacementChoice& choice) {
  PlacedLayers placed;
  for (const std::vector<std::int64_t>& of_layer : loads) {
    GOODPUT_TRY(GroupedExperts grouped,
                place_eplb_groups(of_layer, nodes.grid(), choice.expert_groups, choice.min_replicas));
    placed.min_replicas = grouped.counts.min_replicas;
    placed.layers.push_back({{std::move(grouped.counts.replicas), of_layer}, std::move(grouped.placement)});
  }
  return placed;
}

void shift(PlacedLayers& placed, const ExpertNodes& nodes, const PlacementChoice& choice) {
  std::vector<ExpertPlacement> placements = placements_of(placed.layers);
  std::vector<LayerDemand> layers = demands_of(placed.layers);
  shift_replicas(placements, layers, placed.min_replicas, nodes.gpus, choice.effort);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    placed.layers[l] = {std::move(layers[l]), std::move(placements[l])};
  }
}

double busiest(const PlacedLayer& placed, const ExpertNodes& nodes) {
  return load_imbalance(placed.placement, placed.layer, nodes.gpus).gpu_max_over_mean;
}

// How uneven the layer is that does worst against the other placement: below 1, every layer is more even.
double worst_ratio(const PlacedLayers& placed, const PlacedLayers& to, const ExpertNodes& nodes) {
  double worst = 0;
  for (std::size_t l = 0; l < placed.layers.size(); ++l) {
    worst = std::max(worst, busiest(placed.layers[l], nodes) / busiest(to.layers[l], nodes));
  }
  return worst;
}

bool survives_as_often(const PlacedLayers& placed, const PlacedLayers& other) {
  return survives_as_often(placements_of(placed.layers), placements_of(other.layers));
}

bool is_untruncated(const PlacedLayers& placed, const ExpertNodes& nodes) {
  return std::all_of(placed.layers.begin(), placed.layers.end(),
                     [&](const PlacedLayer& layer) { return is_untruncated(layer.layer, nodes.grid()); });
}

bool survives_as_own_baselines(const PlacedLayers& placed, const ExpertNodes& nodes) {
  return survives_as_baselines(placements_of(placed.layers), demands_of(placed.layers), nodes.grid());
}

// `balanced` and `best` together. What Lazarus' allocation and placement (Eq. 1, maximum rank overlap)
// survive is never lost; where they are hard to better in evenness, other ways start from them.
Result<PlacedLayers> place_balanced(std::span<const std::vector<std::int64_t>> loads,
                                    const ExpertNodes& nodes, const PlacementChoice& choice) {
  GOODPUT_TRY(PlacedLayers placed, allocate_and_place(loads, nodes, choice));
  if (nodes.grid().total() > static_cast<std::int64_t>(kMaxShiftedSlots) && is_untruncated(placed, nodes)) {
    return placed;  // even from the start, and as safe as its groups are large
  }
  shift(placed, nodes, choice);
  PlacementChoice lazarus = choice;
  lazarus.allocation = Allocation::kEq1;
  lazarus.rule = PlacementRule::kMro;
  GOODPUT_TRY(const PlacedLayers baseline, allocate_and_place(loads, nodes, lazarus));
  const bool survives = survives_as_often(placed, baseline);
  double ratio = worst_ratio(placed, baseline, nodes);
  if (survives && ratio < 1) return placed;

  lazarus.rule = PlacementRule::kBest;
  GOODPUT_TRY(PlacedLayers from_eq1, allocate_and_place(loads, nodes, lazarus));
  shift(from_eq1, nodes, choice);
  PlacedLayers from_mro = baseline;
  shift(from_mro, nodes, choice);
  if (!survives) {
    placed = baseline;
    ratio = 1;
  }
  for (PlacedLayers* candidate : {&from_eq1, &from_mro}) {
    const double candidate_ratio = worst_ratio(*candidate, baseline, nodes);
    if (candidate_ratio >= ratio || !survives_as_often(*candidate, baseline)) continue;
    if (candidate->layers.size() == 1 && !survives_as_own_baselines(*candidate, nodes)) continue;
    ratio = candidate_ratio;
    placed = std::move(*candidate);
  }
  return placed;
}

}  // namespace

Result<PlacedLayers> place_experts(std::span<const std::vector<std::int64_t>> loads, const ExpertNodes& nodes,
                                   const PlacementChoice& choice) {
  GOODPUT_TRY_STATUS(check_nodes(nodes));
  GOODPUT_TRY_STATUS(check_layers(loads));
  if (choice.expert_groups != 1) {
    GOODPUT_CHECK(choice.allocation == Allocation::kEplb && choice.rule == PlacementRule::kEplb,
                  "groups of experts need EPLB's allocation and placement rule");
    GOODPUT_TRY_STATUS(
        check_expert_groups(choice.expert_groups, static_cast<std::int64_t>(loads.front().size())));
    if (keeps_groups_on_nodes(choice.expert_groups, nodes.nodes)) return place_by_group(loads, nodes, choice);
  }
  if (choice.allocation != Allocation::kBalanced || choice.rule != PlacementRule::kBest) {
    return allocate_and_place(loads, nodes, choice);
  }
  return place_balanced(loads, nodes, choice);
}

Result<PlacedLayers> place_replicas(std::span<const LayerDemand> layers, const ExpertNodes& nodes,
                                    PlacementRule rule, const SearchEffort& effort) {
  GOODPUT_TRY_STATUS(check_nodes(nodes));
  if (layers.empty()) return Error{"there are no layers to place"};
  PlacedLayers placed;
  for (const LayerDemand& layer : layers) {
    GOODPUT_TRY_STATUS(check_replicas(layer.replicas, nodes.grid()));
    if (!layer.loads.empty() && layer.loads.size() != layer.replicas.size()) {
      return Error{fmt::format("a layer has loads for {} experts but replicas for {}", layer.loads.size(),
                               layer.replicas.size())};
    }
    const std::int32_t least = *std::min_element(layer.replicas.begin(), layer.replicas.end());
    placed.min_replicas = placed.layers.empty() ? least : std::min(placed.min_replicas, least);
    placed.layers.push_back({layer, {}});
  }
  std::vector<ExpertPlacement> placements = place_by(rule, layers, nodes, effort);
  for (std::size_t l = 0; l < layers.size(); ++l) placed.layers[l].placement = std::move(placements[l]);
  return placed;
}

std::vector<LayerDemand> demands_of(std::span<const PlacedLayer> layers) {
  std::vector<LayerDemand> demands;
  for (const PlacedLayer& placed : layers) demands.push_back(placed.layer);
  return demands;
}

std::vector<ExpertPlacement> placements_of(std::span<const PlacedLayer> layers) {
  std::vector<ExpertPlacement> placements;
  for (const PlacedLayer& placed : layers) placements.push_back(placed.placement);
  return placements;
}

}  // namespace goodput
