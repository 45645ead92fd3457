#include "models/placement/placement_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "sim/base/index.h"

namespace goodput {
namespace {

// The nodes of each expert's replicas.
using NodesOfExpert = std::vector<std::vector<std::int32_t>>;

// Nodes with free slots, emptiest first, of several the first.
class EmptiestNodes {
 public:
  explicit EmptiestNodes(const std::vector<std::int32_t>& vacant) {
    level_ = *std::max_element(vacant.begin(), vacant.end());
    with_.resize(index(level_) + 1);
    for (std::size_t n = 0; n < vacant.size(); ++n) {
      with_[index(vacant[n])].push_back(static_cast<std::int32_t>(n));
    }
  }

  // One slot. REQUIRES: there is one.
  std::int32_t take() {
    if (next_ == with_[index(level_)].size()) descend();
    GOODPUT_CHECK(level_ > 0, "replicas must fit into the slots");
    return with_[index(level_)][next_++];
  }

 private:
  // Every node of this level gave a slot and now stands with those that had one less.
  void descend() {
    std::vector<std::int32_t>& emptier = with_[index(level_)];
    std::vector<std::int32_t>& fuller = with_[index(level_) - 1];
    const auto middle = fuller.insert(fuller.end(), emptier.begin(), emptier.end());
    std::inplace_merge(fuller.begin(), middle, fuller.end());
    --level_;
    next_ = 0;
  }

  std::int32_t level_ = 0;  // free slots of the emptiest
  std::size_t next_ = 0;    // in with_[level_]
  std::vector<std::vector<std::int32_t>> with_{};
};

}  // namespace

double LayerDemand::load_per_replica(std::int32_t expert) const {
  if (loads.empty()) return 1;
  return static_cast<double>(loads[index(expert)]) / static_cast<double>(replicas[index(expert)]);
}

std::vector<ExpertGroup> overlap_groups(const LayerDemand& layer, const SlotGrid& grid) {
  const std::vector<std::int32_t> order = experts_by_replicas(layer.replicas, layer.loads);
  std::vector<ExpertGroup> groups;
  std::int32_t nodes_left = grid.nodes;
  for (std::size_t first = 0; first < order.size(); first += index(grid.slots)) {
    const std::size_t last = std::min(first + index(grid.slots), order.size());
    ExpertGroup group;
    for (std::size_t i = first; i < last; ++i) group.experts.push_back(order[i]);
    group.nodes = std::min(layer.replicas[index(order[first])], nodes_left);
    nodes_left -= group.nodes;
    groups.push_back(std::move(group));
  }
  return groups;
}

bool is_untruncated(const LayerDemand& layer, const SlotGrid& grid) {
  const std::vector<ExpertGroup> groups = overlap_groups(layer, grid);
  return groups.back().nodes == layer.replicas[index(groups.back().experts.front())];
}

ExpertPlacement place_groups(const LayerDemand& layer, const SlotGrid& grid,
                             std::span<const ExpertGroup> groups,
                             std::span<const std::vector<std::int32_t>> node_sets) {
  NodesOfExpert nodes_of(layer.replicas.size());
  std::vector<std::int32_t> vacant(index(grid.nodes), grid.slots);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    GOODPUT_CHECK(node_sets[g].size() == index(groups[g].nodes), "a group must have its number of nodes");
    for (const std::int32_t e : groups[g].experts) nodes_of[index(e)] = node_sets[g];
    for (const std::int32_t n : node_sets[g]) {
      vacant[index(n)] -= static_cast<std::int32_t>(groups[g].experts.size());
    }
  }
  EmptiestNodes emptiest(vacant);
  for (const ExpertGroup& group : groups) {
    for (const std::int32_t e : group.experts) {
      while (nodes_of[index(e)].size() < index(layer.replicas[index(e)])) {
        nodes_of[index(e)].push_back(emptiest.take());
      }
    }
  }
  return placement_of(nodes_of, grid.nodes, grid.slots);
}

ExpertPlacement place_mro(const LayerDemand& layer, const SlotGrid& grid) {
  const std::vector<ExpertGroup> groups = overlap_groups(layer, grid);
  std::vector<std::vector<std::int32_t>> node_sets;
  std::int32_t next = 0;
  for (const ExpertGroup& group : groups) {
    node_sets.emplace_back(index(group.nodes));
    std::iota(node_sets.back().begin(), node_sets.back().end(), next);
    next += group.nodes;
  }
  return place_groups(layer, grid, groups, node_sets);
}

ExpertPlacement place_spread(const LayerDemand& layer, const SlotGrid& grid) {
  NodesOfExpert nodes_of(layer.replicas.size());
  std::int32_t i = 0;
  for (std::size_t e = 0; e < nodes_of.size(); ++e) {
    for (std::int32_t r = 0; r < layer.replicas[e]; ++r) nodes_of[e].push_back(i++ % grid.nodes);
  }
  return placement_of(nodes_of, grid.nodes, grid.slots);
}

ExpertPlacement place_compact(const LayerDemand& layer, const SlotGrid& grid) {
  NodesOfExpert nodes_of(layer.replicas.size());
  std::int32_t i = 0;
  for (std::size_t e = 0; e < nodes_of.size(); ++e) {
    for (std::int32_t r = 0; r < layer.replicas[e]; ++r) nodes_of[e].push_back(i++ / grid.slots);
  }
  return placement_of(nodes_of, grid.nodes, grid.slots);
}

ExpertPlacement place_eplb(const LayerDemand& layer, const SlotGrid& grid, std::int32_t gpus_per_node) {
  GOODPUT_CHECK(gpus_per_node > 0 && grid.slots % gpus_per_node == 0,
                "all GPUs of a node must have the same number of slots");
  std::vector<std::int32_t> heaviest(layer.replicas.size());
  std::iota(heaviest.begin(), heaviest.end(), 0);
  std::stable_sort(heaviest.begin(), heaviest.end(), [&](std::int32_t a, std::int32_t b) {
    return layer.load_per_replica(a) > layer.load_per_replica(b);
  });
  using LoadedGpu = std::pair<double, std::int32_t>;
  std::priority_queue<LoadedGpu, std::vector<LoadedGpu>, std::greater<>> open;
  for (std::int32_t gpu = 0; gpu < grid.nodes * gpus_per_node; ++gpu) open.emplace(0, gpu);
  std::vector<std::int32_t> vacant(open.size(), grid.slots / gpus_per_node);
  NodesOfExpert nodes_of(layer.replicas.size());
  for (const std::int32_t e : heaviest) {
    for (std::int32_t r = 0; r < layer.replicas[index(e)]; ++r) {
      const auto [load, gpu] = open.top();
      open.pop();
      nodes_of[index(e)].push_back(gpu / gpus_per_node);
      if (--vacant[index(gpu)] > 0) open.emplace(load + layer.load_per_replica(e), gpu);
    }
  }
  return placement_of(nodes_of, grid.nodes, grid.slots);
}

Status check_replicas(std::span<const std::int32_t> replicas, const SlotGrid& grid) {
  if (replicas.empty())
    return Error{"there are no experts; give the number of replicas of at least one expert"};
  std::int64_t sum = 0;
  for (std::size_t e = 0; e < replicas.size(); ++e) {
    if (replicas[e] < 1) {
      return Error{fmt::format("expert {} must have at least 1 replica, not {}", e, replicas[e])};
    }
    sum += replicas[e];
  }
  if (sum == grid.total()) return Ok{};
  return Error{fmt::format("the replicas add up to {}, but {} nodes x {} slots hold {}", sum, grid.nodes,
                           grid.slots, grid.total())};
}

}  // namespace goodput
