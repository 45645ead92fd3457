#include "models/placement_search/best_plan.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "models/placement/survival.h"
#include "models/placement_search/failure_lattice.h"
#include "models/placement_search/joint_layers.h"
#include "models/placement_search/layer_balance.h"
#include "models/placement_search/layer_search.h"
#include "sim/base/errors.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

// ---- Groups of maximum rank overlap for many layers at once, with the slots that survival does not need
// used for balance.

// Nodes of the smallest group i of all layers that have one.
std::vector<std::int32_t> smallest_groups(std::span<const std::vector<ExpertGroup>> layers) {
  std::vector<std::int32_t> smallest;
  for (const std::vector<ExpertGroup>& groups : layers) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (g == smallest.size()) smallest.push_back(groups[g].nodes);
      smallest[g] = std::min(smallest[g], groups[g].nodes);
    }
  }
  return smallest;
}

struct Replica {
  std::int32_t expert;
  double load;
};

// Puts the groups of a layer on their nodes and the replicas left over, heaviest first, on the node with the
// least load that has a free slot.
class FilledGroups {
 public:
  FilledGroups(const LayerDemand& layer, const SlotGrid& grid, std::span<const ExpertGroup> groups,
               std::span<const std::vector<std::int32_t>> node_sets)
      : grid_(grid), nodes_of_(layer.replicas.size()), load_(index(grid.nodes)), free_(index(grid.nodes)) {
    std::vector<std::int32_t> vacant(index(grid.nodes), grid.slots);
    std::vector<Replica> left_over;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const std::int32_t e : groups[g].experts) {
        const double load = layer.load_per_replica(e);
        nodes_of_[index(e)] = node_sets[g];
        for (const std::int32_t n : node_sets[g]) {
          load_[index(n)] += load;
          --vacant[index(n)];
        }
        left_over.insert(left_over.end(), index(layer.replicas[index(e)]) - node_sets[g].size(), {e, load});
      }
    }
    std::stable_sort(left_over.begin(), left_over.end(),
                     [](const Replica& a, const Replica& b) { return a.load > b.load; });
    fill(left_over, vacant);
  }

  [[nodiscard]] ExpertPlacement placement() && {
    for (std::size_t n = 0; n < free_.size(); ++n) {
      for (const Replica& replica : free_[n]) {
        nodes_of_[index(replica.expert)].push_back(static_cast<std::int32_t>(n));
      }
    }
    return placement_of(nodes_of_, grid_.nodes, grid_.slots);
  }

 private:
  void fill(const std::vector<Replica>& replicas, std::vector<std::int32_t>& vacant) {
    using LoadedNode = std::pair<double, std::size_t>;
    std::priority_queue<LoadedNode, std::vector<LoadedNode>, std::greater<>> open;
    for (std::size_t n = 0; n < vacant.size(); ++n) {
      if (vacant[n] > 0) open.emplace(load_[n], n);
    }
    for (const Replica& replica : replicas) {
      GOODPUT_CHECK(!open.empty(), "replicas must fit into the slots");
      const std::size_t n = open.top().second;
      open.pop();
      free_[n].push_back(replica);
      load_[n] += replica.load;
      if (--vacant[n] > 0) open.emplace(load_[n], n);
    }
  }

  SlotGrid grid_;
  std::vector<std::vector<std::int32_t>> nodes_of_;  // of the groups, by expert
  std::vector<double> load_;                         // by node
  std::vector<std::vector<Replica>> free_;           // what the slots left over hold, by node
};

// The nodes of group i of every layer, by layer and group. The smallest group i of all layers is part of
// every group i, so that a failure that is fatal to one layer is fatal to no more for the others' sake.
// `layers`: groups of each layer; their nodes fit into `nodes` layer by layer.
std::vector<std::vector<std::vector<std::int32_t>>> anchored_node_sets(
    std::span<const std::vector<ExpertGroup>> layers, std::int32_t nodes) {
  const std::vector<std::int32_t> anchors = smallest_groups(layers);
  std::vector<std::vector<std::vector<std::int32_t>>> sets;
  for (const std::vector<ExpertGroup>& groups : layers) {
    std::vector<std::vector<std::int32_t>>& of_layer = sets.emplace_back(groups.size());
    std::int32_t next = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (std::int32_t i = 0; i < anchors[g]; ++i) of_layer[g].push_back(next++);
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      while (of_layer[g].size() < index(groups[g].nodes)) of_layer[g].push_back(next++);
    }
    GOODPUT_CHECK(next <= nodes, "the groups of a layer must fit on the nodes");
  }
  return sets;
}

// ---- The plan.

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
    placements[untruncated[i]] =
        FilledGroups(layers[untruncated[i]], grid, groups[i], node_sets[i]).placement();
  }
  return placements;
}

}  // namespace

std::vector<ExpertPlacement> place_best(std::span<const LayerDemand> layers, const SlotGrid& grid,
                                        const SearchEffort& effort, std::int32_t gpus_per_node) {
  GOODPUT_CHECK(!layers.empty(), "at least one layer is needed");
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
    GOODPUT_CHECK(survived.has_value(), "disjoint sets must be small enough for the exact recursion");
    for (std::size_t k = 0; k < bound.size(); ++k) {
      const bool too_few =
          grid.nodes - static_cast<std::int32_t>(k) < static_cast<std::int32_t>(groups.size());
      bound[k] = too_few ? 0 : std::min(bound[k], (*survived)[k]);
    }
  }
  return bound;
}

}  // namespace goodput
