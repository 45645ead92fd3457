#include "models/placement_search/best_plan.h"

#include <algorithm>
#include <utility>

#include "models/placement/survival.h"
#include "models/placement_search/anchored_groups.h"
#include "models/placement_search/failure_lattice.h"
#include "models/placement_search/joint_layers.h"
#include "models/placement_search/layer_balance.h"
#include "models/placement_search/layer_search.h"
#include "sim/base/errors.h"

namespace goodput {
namespace {

std::vector<ExpertPlacement> all_layers(std::span<const LayerDemand> layers, const SlotGrid& grid,
                                        ExpertPlacement (*place)(const LayerDemand&, const SlotGrid&)) {
  std::vector<ExpertPlacement> placements;
  for (const LayerDemand& layer : layers) placements.push_back(place(layer, grid));
  return placements;
}

// Each layer at its best, the untruncated ones with common anchors.
std::vector<ExpertPlacement> place_each(std::span<const LayerDemand> layers, const SlotGrid& grid,
                                        const SearchEffort& effort) {
  std::vector<ExpertPlacement> placements(layers.size());
  std::vector<std::size_t> untruncated;
  std::vector<std::vector<ExpertGroup>> groups;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (is_untruncated(layers[l], grid)) {
      untruncated.push_back(l);
      groups.push_back(overlap_groups(layers[l], grid));
    } else {
      placements[l] = search_layer(layers[l], grid, effort);
      report_layer(effort);
    }
  }
  const auto node_sets = anchored_node_sets(groups, grid.nodes);
  for (std::size_t i = 0; i < untruncated.size(); ++i) {
    placements[untruncated[i]] = place_groups_balanced(layers[untruncated[i]], grid, groups[i], node_sets[i]);
  }
  return placements;
}

}  // namespace

std::vector<ExpertPlacement> place_best(std::span<const LayerDemand> layers, const SlotGrid& grid,
                                        const SearchEffort& effort, std::int32_t gpus_per_node) {
  GOODPUT_CHECK(!layers.empty(), "a model has layers");
  SearchEffort of_layer = effort;
  if (layers.size() > 1) {
    of_layer.anneals = (effort.anneals + 1) / 2;
    of_layer.tried = effort.tried / 4;
    // A lattice of one more node takes twice as long to look at.
    for (std::int32_t n = 12; n <= grid.nodes && grid.nodes <= FailureLattice::kMaxNodes; ++n) {
      of_layer.tried /= 2;
      of_layer.moves /= 2;
    }
  }
  std::vector<ExpertPlacement> best = place_each(layers, grid, of_layer);
  if (layers.size() > 1 && grid.nodes <= FailureLattice::kMaxNodes) {
    fit_layers(best, FailureLattice(grid.nodes), of_layer);
  }
  // A layer on its own already survives what the baselines do.
  if (layers.size() > 1) {
    for (const auto place : {place_spread, place_mro}) {
      std::vector<ExpertPlacement> baseline = all_layers(layers, grid, place);
      if (!survives_as_often(best, baseline)) best = std::move(baseline);
    }
  }
  balance_layers(best, layers, gpus_per_node, of_layer);
  return best;
}

bool survives_as_often(std::span<const ExpertPlacement> layers, std::span<const ExpertPlacement> others) {
  const auto curve = [](std::span<const ExpertPlacement> all) {
    const NodeSets sets = deciding_sets(all);
    return survival_by_recursion(sets, compared_failures(sets.nodes()), SurvivalOptions{}.max_states);
  };
  const auto theirs = curve(others);
  if (!theirs) return true;  // not known to be beaten
  const auto ours = curve(layers);
  if (!ours) return false;
  for (std::size_t k = 0; k < ours->size(); ++k) {
    if ((*ours)[k] < (*theirs)[k] - kSameProbability) return false;
  }
  return true;
}

bool survives_as_baselines(std::span<const ExpertPlacement> placements, std::span<const LayerDemand> layers,
                           const SlotGrid& grid) {
  return survives_as_often(placements, all_layers(layers, grid, place_mro)) &&
         survives_as_often(placements, all_layers(layers, grid, place_spread));
}

std::vector<double> survival_bound(std::span<const LayerDemand> layers, const SlotGrid& grid,
                                   std::int32_t max_failures) {
  std::vector<double> bound(static_cast<std::size_t>(max_failures) + 1, 1.0);
  for (const LayerDemand& layer : layers) {
    const std::vector<ExpertGroup> groups = overlap_groups(layer, grid);
    const std::size_t full = is_untruncated(layer, grid) ? groups.size() : groups.size() - 1;
    NodeSets sets(grid.nodes);
    std::int32_t node = 0;
    for (std::size_t g = 0; g < full; ++g) {
      sets.append_empty();
      for (std::int32_t i = 0; i < groups[g].nodes; ++i) sets.insert(g, node++);
    }
    const auto survived = survival_by_recursion(sets, max_failures, SurvivalOptions{}.max_states);
    GOODPUT_CHECK(survived.has_value(), "disjoint sets have two states");
    for (std::size_t k = 0; k < bound.size(); ++k) {
      const bool too_few =
          grid.nodes - static_cast<std::int32_t>(k) < static_cast<std::int32_t>(groups.size());
      bound[k] = too_few ? 0 : std::min(bound[k], (*survived)[k]);
    }
  }
  return bound;
}

}  // namespace goodput
