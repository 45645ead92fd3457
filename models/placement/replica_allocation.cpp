#include "models/placement/replica_allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

#include "sim/base/index.h"

namespace goodput {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::int64_t kMaxSlots = std::int64_t{1} << 20;

std::vector<std::int32_t> experts_by_load(std::span<const std::int64_t> loads) {
  std::vector<std::int32_t> order(loads.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return loads[index(a)] < loads[index(b)]; });
  return order;
}

// Lazarus, Eq. 1, in the order of ascending loads: r_e = max(floor(t_e / (t_e + ... ) * slots left), f).
std::vector<std::int32_t> proportional_replicas(std::span<const std::int64_t> ascending, std::int64_t slots,
                                                std::int32_t least) {
  std::vector<std::int32_t> replicas(ascending.size());
  std::int64_t load_left = std::accumulate(ascending.begin(), ascending.end(), std::int64_t{0});
  const bool idle = load_left == 0;  // no tokens at all: every expert counts the same
  if (idle) load_left = static_cast<std::int64_t>(ascending.size());
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    const std::int64_t load = idle ? 1 : ascending[i];
    const auto share = static_cast<std::int32_t>(static_cast<Wide>(load) * static_cast<Wide>(slots) /
                                                 static_cast<Wide>(load_left));
    replicas[i] = std::max(share, least);
    slots -= replicas[i];
    load_left -= load;
  }
  GOODPUT_CHECK(slots == 0, "Eq. 1 must assign every slot");
  return replicas;
}

// Hands each of the `spare` slots to the expert with the most load a replica (DeepSeek's EPLB); ties: to the
// one with fewer replicas, then to the last, so that replicas go on ascending with the loads.
void give_to_busiest(std::span<const std::int64_t> ascending, std::int64_t spare,
                     std::vector<std::int32_t>& replicas) {
  const auto less_busy = [&](std::size_t a, std::size_t b) {
    const Wide left = static_cast<Wide>(ascending[a]) * static_cast<Wide>(replicas[b]);
    const Wide right = static_cast<Wide>(ascending[b]) * static_cast<Wide>(replicas[a]);
    if (left != right) return left < right;
    return replicas[a] != replicas[b] ? replicas[a] > replicas[b] : a < b;
  };
  std::vector<std::size_t> heap(ascending.size());
  std::iota(heap.begin(), heap.end(), std::size_t{0});
  std::make_heap(heap.begin(), heap.end(), less_busy);
  for (; spare > 0; --spare) {
    std::pop_heap(heap.begin(), heap.end(), less_busy);
    ++replicas[heap.back()];
    std::push_heap(heap.begin(), heap.end(), less_busy);
  }
}

// Survival of nested groups rests on the first expert of each group of `slots` experts
// (models/placement/placement_rules.h): everybody gets what Eq. 1 gives the first of its group, the rest goes
// where the load is.
std::vector<std::int32_t> balanced_replicas(std::span<const std::int64_t> ascending, const SlotGrid& grid,
                                            std::int32_t least) {
  std::vector<std::int32_t> replicas = proportional_replicas(ascending, grid.total(), least);
  std::int64_t spare = grid.total();
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    replicas[i] = replicas[i - i % index(grid.slots)];
    spare -= replicas[i];
  }
  give_to_busiest(ascending, spare, replicas);
  return replicas;
}

std::vector<std::int32_t> eplb_replicas(std::span<const std::int64_t> ascending, std::int64_t slots,
                                        std::int32_t least) {
  std::vector<std::int32_t> replicas(ascending.size(), least);
  give_to_busiest(ascending, slots - least * static_cast<std::int64_t>(ascending.size()), replicas);
  return replicas;
}

}  // namespace

Status check_allocation(std::span<const std::int64_t> loads, const SlotGrid& grid,
                        std::int32_t min_replicas) {
  if (loads.empty()) return Error{"there are no experts; give the load of at least one"};
  if (grid.nodes < 1) return Error{fmt::format("the number of nodes must be 1 or more, not {}", grid.nodes)};
  if (grid.slots < 1) return Error{fmt::format("slots per node must be 1 or more, not {}", grid.slots)};
  if (grid.total() > kMaxSlots) {
    return Error{fmt::format("{} nodes x {} slots are {} slots, but at most {} are supported", grid.nodes,
                             grid.slots, grid.total(), kMaxSlots)};
  }
  if (grid.total() < static_cast<std::int64_t>(loads.size())) {
    return Error{fmt::format("{} experts do not fit on {} nodes x {} slots: not trainable on these nodes",
                             loads.size(), grid.nodes, grid.slots)};
  }
  if (min_replicas < 1) return Error{fmt::format("min replicas must be 1 or more, not {}", min_replicas)};
  std::int64_t sum = 0;
  for (std::size_t e = 0; e < loads.size(); ++e) {
    if (loads[e] < 0)
      return Error{fmt::format("the load of expert {} must be 0 or more, not {}", e, loads[e])};
    if (loads[e] > std::numeric_limits<std::int64_t>::max() - sum) {
      return Error{"the loads add up to 2^63 or more"};
    }
    sum += loads[e];
  }
  return Ok{};
}

Result<ReplicaCounts> allocate_replicas(Allocation allocation, std::span<const std::int64_t> loads,
                                        const SlotGrid& grid, std::int32_t min_replicas) {
  GOODPUT_TRY_STATUS(check_allocation(loads, grid, min_replicas));
  const auto most = grid.total() / static_cast<std::int64_t>(loads.size());
  const auto least = static_cast<std::int32_t>(std::min<std::int64_t>(min_replicas, most));
  const std::vector<std::int32_t> order = experts_by_load(loads);
  std::vector<std::int64_t> ascending(loads.size());
  for (std::size_t i = 0; i < order.size(); ++i) ascending[i] = loads[index(order[i])];

  std::vector<std::int32_t> sorted;
  switch (allocation) {
    case Allocation::kEq1:
      sorted = proportional_replicas(ascending, grid.total(), least);
      break;
    case Allocation::kEplb:
      sorted = eplb_replicas(ascending, grid.total(), least);
      break;
    case Allocation::kBalanced:
      sorted = balanced_replicas(ascending, grid, least);
      break;
  }
  ReplicaCounts counts{std::vector<std::int32_t>(loads.size()), least};
  for (std::size_t i = 0; i < order.size(); ++i) counts.replicas[index(order[i])] = sorted[i];
  return counts;
}

std::vector<std::int32_t> experts_by_replicas(std::span<const std::int32_t> replicas,
                                              std::span<const std::int64_t> loads) {
  std::vector<std::int32_t> order(replicas.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    if (replicas[index(a)] != replicas[index(b)]) return replicas[index(a)] < replicas[index(b)];
    return !loads.empty() && loads[index(a)] < loads[index(b)];
  });
  return order;
}

}  // namespace goodput
