#include "models/placement_search/anchored_groups.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "sim/base/index.h"

namespace goodput {
namespace {

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

// One layer while the slots that its groups leave are filled.
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
      GOODPUT_CHECK(!open.empty(), "replicas fit into the slots");
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

}  // namespace

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
    GOODPUT_CHECK(next <= nodes, "the groups of a layer fit on the nodes");
  }
  return sets;
}

ExpertPlacement place_groups_balanced(const LayerDemand& layer, const SlotGrid& grid,
                                      std::span<const ExpertGroup> groups,
                                      std::span<const std::vector<std::int32_t>> node_sets) {
  return FilledGroups(layer, grid, groups, node_sets).placement();
}

}  // namespace goodput
