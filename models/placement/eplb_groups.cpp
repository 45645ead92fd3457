#include "models/placement/eplb_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "sim/base/index.h"

namespace goodput {
namespace {

std::vector<std::int64_t> loads_of_groups(std::span<const std::int64_t> loads, std::int32_t groups) {
  const std::size_t size = loads.size() / index(groups);
  std::vector<std::int64_t> sums(index(groups));
  for (std::size_t e = 0; e < loads.size(); ++e) sums[e / size] += loads[e];
  return sums;
}

// The experts of each node, ascending.
std::vector<std::vector<std::int32_t>> experts_by_node(std::span<const std::int64_t> loads,
                                                       std::int32_t groups, std::int32_t nodes) {
  const std::vector<std::int32_t> node_of = nodes_of_groups(loads_of_groups(loads, groups), nodes);
  const std::size_t size = loads.size() / index(groups);
  std::vector<std::vector<std::int32_t>> experts(index(nodes));
  for (std::size_t e = 0; e < loads.size(); ++e) {
    experts[index(node_of[e / size])].push_back(static_cast<std::int32_t>(e));
  }
  return experts;
}

Status check_slots_of_nodes(std::size_t experts, const SlotGrid& grid, std::int32_t groups) {
  const std::int32_t held = groups / grid.nodes;
  const std::size_t needed = experts / index(grid.nodes);
  if (needed <= index(std::max(grid.slots, 0))) return Ok{};
  return Error{fmt::format(
      "a node gets {} group{} of {} experts, which do not fit in its {} slots; use {} or more slots per node",
      held, held == 1 ? "" : "s", experts / index(groups), grid.slots, needed)};
}

}  // namespace

Status check_expert_groups(std::int32_t groups, std::int64_t experts) {
  if (groups < 1) return Error{fmt::format("the number of groups must be 1 or more, not {}", groups)};
  if (experts % groups == 0) return Ok{};
  return Error{
      fmt::format("the number of groups must be a divisor of {} (the number of experts per layer), not {}",
                  experts, groups)};
}

std::vector<std::int32_t> nodes_of_groups(std::span<const std::int64_t> loads, std::int32_t nodes) {
  std::vector<std::int32_t> heaviest(loads.size());
  std::iota(heaviest.begin(), heaviest.end(), 0);
  std::stable_sort(heaviest.begin(), heaviest.end(),
                   [&](std::int32_t a, std::int32_t b) { return loads[index(a)] > loads[index(b)]; });
  using LoadedNode = std::pair<std::int64_t, std::int32_t>;
  std::priority_queue<LoadedNode, std::vector<LoadedNode>, std::greater<>> open;
  for (std::int32_t n = 0; n < nodes; ++n) open.emplace(0, n);
  std::vector<std::size_t> room(index(nodes), loads.size() / index(nodes));
  std::vector<std::int32_t> node_of(loads.size());
  for (const std::int32_t group : heaviest) {
    const auto [load, node] = open.top();
    open.pop();
    node_of[index(group)] = node;
    if (--room[index(node)] > 0) open.emplace(load + loads[index(group)], node);
  }
  return node_of;
}

Result<GroupedExperts> place_eplb_groups(std::span<const std::int64_t> loads, const SlotGrid& grid,
                                         std::int32_t groups, std::int32_t min_replicas) {
  GOODPUT_CHECK(keeps_groups_on_nodes(groups, grid.nodes), "nodes must divide the groups");
  GOODPUT_TRY_STATUS(check_expert_groups(groups, static_cast<std::int64_t>(loads.size())));
  GOODPUT_TRY_STATUS(check_slots_of_nodes(loads.size(), grid, groups));
  GOODPUT_TRY_STATUS(check_allocation(loads, grid, min_replicas));
  GroupedExperts placed{{std::vector<std::int32_t>(loads.size()), min_replicas}, {}};
  std::vector<std::vector<std::int32_t>> nodes_of(loads.size());
  const std::vector<std::vector<std::int32_t>> experts = experts_by_node(loads, groups, grid.nodes);
  for (std::size_t n = 0; n < experts.size(); ++n) {
    std::vector<std::int64_t> of_node;
    for (const std::int32_t e : experts[n]) of_node.push_back(loads[index(e)]);
    GOODPUT_TRY(const ReplicaCounts counts,
                allocate_replicas(Allocation::kEplb, of_node, {1, grid.slots}, min_replicas));
    placed.counts.min_replicas = counts.min_replicas;  // of all nodes: they have as many experts and slots
    for (std::size_t i = 0; i < experts[n].size(); ++i) {
      const std::size_t e = index(experts[n][i]);
      placed.counts.replicas[e] = counts.replicas[i];
      nodes_of[e].assign(index(counts.replicas[i]), static_cast<std::int32_t>(n));
    }
  }
  placed.placement = placement_of(nodes_of, grid.nodes, grid.slots);
  return placed;
}

}  // namespace goodput
