// EPLB with groups of experts: by hand, and against the three steps written down as they are described.
#include "models/placement/eplb_groups.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "models/placement/gpu_slots.h"
#include "models/placement_search/place_experts.h"
#include "sim/base/errors.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

using Experts = std::vector<std::int32_t>;
using Loads = std::vector<std::int64_t>;

struct GroupedShape {
  std::int32_t groups = 1;
  std::int32_t nodes = 1;
  std::int32_t gpus = 1;   // of a node
  std::int32_t slots = 1;  // of a GPU
};

// What EPLB makes of a layer: a row of experts per GPU.
struct ReferencePlan {
  Experts replicas{};
  std::vector<Experts> gpus{};
};

// The first bin that has room and the least load.
std::size_t lightest(const std::vector<double>& loads, const std::vector<std::size_t>& held,
                     std::size_t room) {
  std::size_t best = loads.size();
  for (std::size_t b = 0; b < loads.size(); ++b) {
    if (held[b] < room && (best == loads.size() || loads[b] < loads[best])) best = b;
  }
  return best;
}

// Balanced packing: items, heaviest first, go to the lightest bin; all bins get the same number.
std::vector<std::size_t> bins_of(const std::vector<double>& items, std::size_t bins) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return items[a] > items[b]; });
  std::vector<double> loads(bins);
  std::vector<std::size_t> held(bins);
  std::vector<std::size_t> bin_of(items.size());
  for (const std::size_t item : order) {
    const std::size_t bin = lightest(loads, held, items.size() / bins);
    bin_of[item] = bin;
    loads[bin] += items[item];
    ++held[bin];
  }
  return bin_of;
}

// Every spare slot to the expert with the highest load per replica; ties: fewer replicas, then the later
// expert.
Experts replicas_of(const Loads& loads, std::size_t slots) {
  Experts replicas(loads.size(), 1);
  for (std::size_t spare = loads.size(); spare < slots; ++spare) {
    std::size_t busiest = 0;
    for (std::size_t e = 1; e < loads.size(); ++e) {
      const std::int64_t mine = loads[e] * replicas[busiest];
      const std::int64_t theirs = loads[busiest] * replicas[e];
      if (mine > theirs || (mine == theirs && replicas[e] <= replicas[busiest])) busiest = e;
    }
    ++replicas[busiest];
  }
  return replicas;
}

ReferencePlan reference_plan(const Loads& loads, GroupedShape shape) {
  if (shape.groups % shape.nodes != 0) shape = {1, 1, shape.nodes * shape.gpus, shape.slots};
  const std::size_t size = loads.size() / static_cast<std::size_t>(shape.groups);
  std::vector<double> groups(static_cast<std::size_t>(shape.groups));
  for (std::size_t e = 0; e < loads.size(); ++e) groups[e / size] += static_cast<double>(loads[e]);
  const std::vector<std::size_t> node_of = bins_of(groups, static_cast<std::size_t>(shape.nodes));
  ReferencePlan plan{Experts(loads.size()), {}};
  const auto gpus = static_cast<std::size_t>(shape.gpus);
  for (std::size_t n = 0; n < static_cast<std::size_t>(shape.nodes); ++n) {
    Experts experts;
    Loads of_node;
    for (std::size_t e = 0; e < loads.size(); ++e) {
      if (node_of[e / size] != n) continue;
      experts.push_back(static_cast<std::int32_t>(e));
      of_node.push_back(loads[e]);
    }
    const Experts replicas = replicas_of(of_node, gpus * static_cast<std::size_t>(shape.slots));
    Experts held;
    std::vector<double> served;
    for (std::size_t i = 0; i < experts.size(); ++i) {
      plan.replicas[static_cast<std::size_t>(experts[i])] = replicas[i];
      held.insert(held.end(), static_cast<std::size_t>(replicas[i]), experts[i]);
      served.insert(served.end(), static_cast<std::size_t>(replicas[i]),
                    static_cast<double>(of_node[i]) / replicas[i]);
    }
    const std::vector<std::size_t> gpu_of = bins_of(served, gpus);
    std::vector<Experts> rows(gpus);
    for (std::size_t r = 0; r < held.size(); ++r) rows[gpu_of[r]].push_back(held[r]);
    plan.gpus.insert(plan.gpus.end(), rows.begin(), rows.end());
  }
  return plan;
}

// Experts of each node, ascending, out of so many rows per node.
std::vector<Experts> nodes_of_rows(const std::vector<Experts>& rows, std::size_t per_node) {
  std::vector<Experts> nodes(rows.size() / per_node);
  for (std::size_t row = 0; row < rows.size(); ++row)
    nodes[row / per_node].insert(nodes[row / per_node].end(), rows[row].begin(), rows[row].end());
  for (Experts& node : nodes) std::ranges::sort(node);
  return nodes;
}

std::vector<Experts> rows_of(const ExpertPlacement& placement) {
  std::vector<Experts> rows;
  for (std::int32_t n = 0; n < placement.nodes; ++n)
    rows.emplace_back(placement.node(n).begin(), placement.node(n).end());
  return rows;
}

PlacedLayer place_one(const Loads& loads, const GroupedShape& shape) {
  const ExpertNodes nodes{shape.nodes, shape.gpus * shape.slots, shape.gpus};
  const PlacementChoice eplb{Allocation::kEplb, PlacementRule::kEplb, 1, {}, shape.groups};
  Result<PlacedLayers> placed = place_experts(std::vector<Loads>{loads}, nodes, eplb);
  REQUIRE_MESSAGE(placed, (placed ? "" : placed.error().message()));
  return placed->layers.front();
}

struct GroupedCase {
  GroupedShape shape{};
  Loads loads{};
};
// Groups that nodes divide, or (`divided` false) do not.
GroupedCase random_case(std::uint64_t seed, bool divided) {
  RandomStream random(seed, "expert groups");
  const auto between = [&random](std::int64_t least, std::int64_t most) {
    return static_cast<std::int32_t>(least) +
           static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
  };
  GroupedCase made;
  made.shape.nodes = between(divided ? 1 : 2, 6);
  made.shape.groups = made.shape.nodes * between(1, 4) + (divided ? 0 : between(1, made.shape.nodes - 1));
  made.shape.gpus = between(1, 4);
  const std::int32_t experts = made.shape.groups * between(1, 5);
  const std::int32_t all_gpus = made.shape.nodes * made.shape.gpus;
  made.shape.slots = (experts + all_gpus - 1) / all_gpus + between(0, 3);
  const std::int32_t range =
      random.below(6) == 0 ? 3 : 100'000;  // a few experts without tokens, and many ties
  for (std::int32_t e = 0; e < experts; ++e) made.loads.push_back(between(0, range));
  return made;
}

std::string refused_groups(const Loads& loads, const SlotGrid& grid, std::int32_t groups) {
  const auto placed = place_eplb_groups(loads, grid, groups, 1);
  return placed ? "" : placed.error().message();
}

}  // namespace

TEST_CASE("expert groups: EPLB with groups by hand") {
  // Groups of two: 100, 80, 50, 30. Node 0 gets 100; node 1 gets 80, then 50, and is full; node 0 gets 30.
  const Loads loads = {90, 10, 40, 40, 30, 20, 25, 5};
  CHECK(nodes_of_groups(std::vector<std::int64_t>{100, 80, 50, 30}, 2) == Experts{0, 1, 1, 0});
  // Node 0 has experts 0, 1, 6 and 7 in 6 slots: both spare ones go to expert 0, at 90 and 45 per replica. On
  // node 1, experts 2 and 3 have 40: one more replica for each.
  const PlacedLayer placed = place_one(loads, {4, 2, 2, 3});
  CHECK(placed.layer.replicas == Experts{3, 1, 2, 2, 1, 1, 1, 1});
  CHECK(rows_of(placed.placement) == std::vector<Experts>{{0, 0, 0, 1, 6, 7}, {2, 2, 3, 3, 4, 5}});
  // Node 0: 30 | 30, 30 | 25, - | 10, 5 | - make 65 on both GPUs. Node 1: 30 | 20, - | 20, 20 | 20, 20 | -
  // make 70 and 60; the mean is 65.
  const ExpertPlacement gpus = split_over_gpus(placed.placement, placed.layer, 2);
  CHECK(rows_of(gpus) == std::vector<Experts>{{0, 0, 7}, {0, 1, 6}, {3, 4, 5}, {2, 2, 3}});
  const LoadImbalance balance = load_imbalance(placed.placement, placed.layer, 2);
  CHECK(balance.node_max_over_mean == 1);
  CHECK(balance.gpu_max_over_mean == doctest::Approx(70.0 / 65));
  // As one group, experts of a group are anywhere.
  CHECK(place_one(loads, {1, 2, 2, 3}).placement != placed.placement);
}

TEST_CASE("expert groups: placements are those of the three steps, one after the other") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    INFO("seed " << seed);
    const auto [shape, loads] = random_case(seed, true);
    const PlacedLayer placed = place_one(loads, shape);
    const ReferencePlan reference = reference_plan(loads, shape);
    REQUIRE(placed.layer.replicas == reference.replicas);
    REQUIRE(rows_of(placed.placement) == nodes_of_rows(reference.gpus, static_cast<std::size_t>(shape.gpus)));
    // GPUs are dealt their slots as in EPLB, and then swap some where that helps.
    double busiest = 0;
    for (const Experts& gpu : reference.gpus) {
      double load = 0;
      for (const std::int32_t e : gpu) load += placed.layer.load_per_replica(e);
      busiest = std::max(busiest, load);
    }
    const std::vector<double> ours =
        node_loads(split_over_gpus(placed.placement, placed.layer, shape.gpus), placed.layer);
    REQUIRE(*std::ranges::max_element(ours) <= busiest * (1 + 1e-12));
  }
}

TEST_CASE("expert groups: if nodes do not divide the groups, all experts are placed as one group") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    INFO("seed " << seed);
    const auto [shape, loads] = random_case(seed, false);
    REQUIRE_FALSE(keeps_groups_on_nodes(shape.groups, shape.nodes));
    const PlacedLayer placed = place_one(loads, shape);
    const ReferencePlan reference = reference_plan(loads, shape);
    REQUIRE(placed.layer.replicas == reference.replicas);
    REQUIRE(rows_of(placed.placement) == nodes_of_rows(reference.gpus, static_cast<std::size_t>(shape.gpus)));
    const PlacedLayer one_group = place_one(loads, {1, shape.nodes, shape.gpus, shape.slots});
    REQUIRE(placed.placement == one_group.placement);
  }
}

TEST_CASE("expert groups: on one node any number of groups is the same as one") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    auto [shape, loads] = random_case(seed, true);
    shape = {shape.groups, 1, shape.nodes * shape.gpus, shape.slots};
    const PlacedLayer grouped = place_one(loads, shape);
    shape.groups = 1;
    REQUIRE(grouped.placement == place_one(loads, shape).placement);
  }
}

TEST_CASE(
    "expert groups: all replicas of a group share a node, and loads are within the bounds of the packing") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    INFO("seed " << seed);
    const auto [shape, loads] = random_case(seed, true);
    const PlacedLayer placed = place_one(loads, shape);
    const std::size_t size = loads.size() / static_cast<std::size_t>(shape.groups);
    const SlotGrid grid{shape.nodes, shape.gpus * shape.slots};
    REQUIRE(check_replicas(placed.layer.replicas, grid));
    std::vector<std::int32_t> node_of(static_cast<std::size_t>(shape.groups), -1);
    std::vector<std::int32_t> groups_on(static_cast<std::size_t>(shape.nodes));
    for (std::int32_t n = 0; n < shape.nodes; ++n) {
      for (const std::int32_t e : placed.placement.node(n)) {
        std::int32_t& node = node_of[static_cast<std::size_t>(e) / size];
        if (node == -1) ++groups_on[static_cast<std::size_t>(n)];
        if (node == -1) node = n;
        REQUIRE(node == n);
      }
    }
    for (const std::int32_t groups : groups_on) REQUIRE(groups == shape.groups / shape.nodes);
    // Nodes: let a_1..a_k and b_1..b_k be the groups of two nodes as they came, heaviest first. If a_(m+1) <=
    // b_m for all m, sum a - sum b <= a_1. Otherwise take the last m with a_(m+1) > b_m. Then b had less than
    // m groups and room when a, with m groups, got one: a_1 + .. + a_m <= b_1 + .. + b_(m-1), so that sum a -
    // sum b <= a_(m+1). The same holds for the replicas on two GPUs of a node.
    double heaviest_group = 0;
    for (std::size_t g = 0; g < node_of.size(); ++g) {
      const auto first = loads.begin() + static_cast<std::ptrdiff_t>(g * size);
      const auto sum = std::accumulate(first, first + static_cast<std::ptrdiff_t>(size), std::int64_t{0});
      heaviest_group = std::max(heaviest_group, static_cast<double>(sum));
    }
    const std::vector<double> nodes = node_loads(placed.placement, placed.layer);
    const auto [least, most] = std::ranges::minmax(nodes);
    REQUIRE(most - least <= heaviest_group * (1 + 1e-12));
    const std::vector<double> gpus =
        node_loads(split_over_gpus(placed.placement, placed.layer, shape.gpus), placed.layer);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      double heaviest = 0;
      for (const std::int32_t e : placed.placement.node(static_cast<std::int32_t>(n)))
        heaviest = std::max(heaviest, placed.layer.load_per_replica(e));
      for (std::int32_t g = 0; g < shape.gpus; ++g)
        REQUIRE(gpus[n * static_cast<std::size_t>(shape.gpus) + static_cast<std::size_t>(g)] <=
                nodes[n] / shape.gpus + heaviest * (1 + 1e-9));
    }
  }
}

TEST_CASE("expert groups: a minimum of replicas is lowered to what the slots of a node hold") {
  // Four experts per node: 6 slots hold one replica of each, 8 slots two.
  const Loads loads = {90, 10, 40, 40, 30, 20, 25, 5};
  const auto lowered = place_eplb_groups(loads, {2, 6}, 4, 2);
  REQUIRE(lowered);
  CHECK(lowered->counts.min_replicas == 1);
  const auto two = place_eplb_groups(loads, {2, 8}, 4, 2);
  REQUIRE(two);
  CHECK(two->counts.min_replicas == 2);
  CHECK(two->counts.replicas == Experts(8, 2));
}

TEST_CASE("expert groups: groups that do not divide the experts, or do not fit on a node, are refused") {
  const Loads eight(8, 1);
  CHECK(refused_groups(eight, {1, 8}, 3) ==
        "the number of groups must be a divisor of 8 (the number of experts per layer), not 3");
  CHECK(check_expert_groups(0, 8).error().message() == "the number of groups must be 1 or more, not 0");
  CHECK(check_expert_groups(8, 8));
  CHECK(refused_groups(eight, {2, 3}, 4) ==
        "a node gets 2 groups of 2 experts, which do not fit in its 3 slots; use 4 or more slots per node");
  CHECK(refused_groups(eight, {2, 3}, 2) ==
        "a node gets 1 group of 4 experts, which do not fit in its 3 slots; use 4 or more slots per node");
  CHECK(refused_groups({3, -1}, {2, 1}, 2) == "the load of expert 1 must be 0 or more, not -1");
  CHECK(refused_groups({}, {2, 1}, 2) == "there are no experts; give the load of at least one");
  CHECK_THROWS_AS((void)place_eplb_groups(eight, {3, 8}, 4, 1), InternalError);
}

}  // namespace goodput
