// Physical nodes to nodes of a plan: the greedy rule as it is stated, the optimum against all permutations
// and against its own proof.
#include "models/migration/node_mapping.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "sim/base/index.h"
#include "sim/base/random.h"
#include "tests/support/random_placement.h"

namespace goodput {
namespace {

using Nodes = std::vector<std::int32_t>;

MappingCosts random_costs(RandomStream& random, std::int32_t physical, std::int32_t plan,
                          std::uint64_t bound) {
  MappingCosts costs{physical, plan, {}};
  for (std::int32_t i = 0; i < physical * plan; ++i) {
    costs.costs.push_back(static_cast<std::int32_t>(random.below(bound)));
  }
  return costs;
}

std::int64_t sum_of(const MappingCosts& costs, const Nodes& physical_of) {
  std::int64_t sum = 0;
  for (std::int32_t q = 0; q < costs.plan; ++q) sum += costs.at(physical_of[static_cast<std::size_t>(q)], q);
  return sum;
}

// Every order of the physical nodes; the first of them take the places.
std::int64_t least_of_all(const MappingCosts& costs) {
  Nodes order(static_cast<std::size_t>(costs.physical));
  std::iota(order.begin(), order.end(), 0);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  do {
    least = std::min(least, sum_of(costs, order));
  } while (std::ranges::next_permutation(order).found);
  return least;
}

void check_is_mapping(const MappingCosts& costs, const NodeMapping& mapping) {
  REQUIRE(mapping.physical_of.size() == static_cast<std::size_t>(costs.plan));
  Nodes sorted = mapping.physical_of;
  std::ranges::sort(sorted);
  CHECK(std::ranges::adjacent_find(sorted) == sorted.end());
  CHECK((sorted.empty() || (sorted.front() >= 0 && sorted.back() < costs.physical)));
  CHECK(mapping.cost == sum_of(costs, mapping.physical_of));
}

// A mapping is optimal iff no ring of nodes gains by passing on their places, idle nodes having places that
// cost nothing: no negative cycle (Floyd and Warshall) where i -> j costs what i loses by taking j's place.
bool gains_by_a_ring(const MappingCosts& costs, const NodeMapping& mapping) {
  const auto n = static_cast<std::size_t>(costs.physical);
  Nodes place(n, -1);
  for (std::size_t q = 0; q < mapping.physical_of.size(); ++q) {
    place[static_cast<std::size_t>(mapping.physical_of[q])] = static_cast<std::int32_t>(q);
  }
  const auto cost = [&](std::size_t p, std::int32_t q) {
    return q < 0 ? 0 : costs.at(static_cast<std::int32_t>(p), q);
  };
  std::vector<std::vector<std::int64_t>> loss(n, std::vector<std::int64_t>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) loss[i][j] = cost(i, place[j]) - cost(i, place[i]);
  }
  for (std::size_t via = 0; via < n; ++via) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) loss[i][j] = std::min(loss[i][j], loss[i][via] + loss[via][j]);
      if (loss[i][i] < 0) return true;
    }
  }
  return false;
}

ExpertPlacement placement(std::int32_t experts, std::int32_t slots, Nodes expert_at) {
  const auto nodes = static_cast<std::int32_t>(expert_at.size()) / slots;
  return {experts, nodes, slots, std::move(expert_at)};
}

}  // namespace

TEST_CASE("node mapping: greedy takes the cheapest pair first, which may cost more in the end") {
  // The pair (0, 0) costs 1 and leaves (1, 1) at 9; the other two cost 2 + 3.
  const MappingCosts costs{2, 2, {1, 2, 3, 9}};
  CHECK(greedy_mapping(costs).physical_of == Nodes{0, 1});
  CHECK(greedy_mapping(costs).cost == 10);
  CHECK(optimal_mapping(costs).physical_of == Nodes{1, 0});
  CHECK(optimal_mapping(costs).cost == 5);
  CHECK(map_nodes(costs, MappingRule::kGreedy).cost == 10);
  CHECK(map_nodes(costs, MappingRule::kOptimal).cost == 5);
}

TEST_CASE(
    "node mapping: of equally cheap pairs greedy takes the lowest physical node, then the lowest place") {
  // All ones: 0 takes place 0, then 1 takes 1. With (1, 0) at 0 that goes first and 0 gets place 1.
  CHECK(greedy_mapping({3, 2, {1, 1, 1, 1, 1, 1}}).physical_of == Nodes{0, 1});
  CHECK(greedy_mapping({3, 2, {1, 1, 0, 1, 1, 1}}).physical_of == Nodes{1, 0});
  // (0, 0), (0, 1) and (1, 0) cost 1: the first of them is taken although it leaves (1, 1) at 5.
  CHECK(greedy_mapping({2, 2, {1, 1, 1, 5}}).physical_of == Nodes{0, 1});
}

TEST_CASE("node mapping: who is left over stays idle") {
  // Node 1 is of no use for either place.
  const MappingCosts costs{3, 2, {4, 0, 9, 9, 0, 4}};
  CHECK(greedy_mapping(costs).physical_of == Nodes{2, 0});
  CHECK(optimal_mapping(costs).physical_of == Nodes{2, 0});
  CHECK(optimal_mapping({2, 0, {}}).physical_of.empty());
}

TEST_CASE("node mapping: the optimum is the least over all permutations") {
  // Small bounds make ties, which are the hard part.
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "costs");
    const auto physical = 1 + static_cast<std::int32_t>(random.below(seed % 20 == 0 ? 7 : 5));
    const auto plan = 1 + static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(physical)));
    const MappingCosts costs = random_costs(random, physical, plan, seed % 2 == 0 ? 4 : 100);
    const NodeMapping greedy = greedy_mapping(costs);
    const NodeMapping optimal = optimal_mapping(costs);
    check_is_mapping(costs, greedy);
    check_is_mapping(costs, optimal);
    REQUIRE(optimal.cost == least_of_all(costs));
    CHECK(optimal.cost <= greedy.cost);
  }
}

TEST_CASE("node mapping: no ring of nodes gains by passing on their places in a large optimum") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "large costs");
    const auto physical = 20 + static_cast<std::int32_t>(random.below(80));
    const auto plan = physical - (seed % 3 == 0 ? 0 : static_cast<std::int32_t>(random.below(20)));
    const MappingCosts costs = random_costs(random, physical, plan, seed % 2 == 0 ? 10 : 100'000);
    const NodeMapping optimal = optimal_mapping(costs);
    check_is_mapping(costs, optimal);
    CHECK(!gains_by_a_ring(costs, optimal));
    CHECK(optimal.cost <= greedy_mapping(costs).cost);
    // The proof proves something: a greedy mapping of random costs fails it.
    CHECK(gains_by_a_ring(costs, greedy_mapping(costs)) == (greedy_mapping(costs).cost > optimal.cost));
  }
}

TEST_CASE("node mapping: a pair costs the distinct experts that the node does not hold, over all layers") {
  // Layer 0, 3 slots: nodes hold {0,1,1} and {1,2,2}; the plan wants {0,2,2} and {1,1,2}.
  //   missing on node 0: {2}, {2}; on node 1: {0}, none
  // Layer 1, 1 slot, 70 experts (two words): nodes hold 67 and 3; the plan wants 3 and 67.
  //   missing on node 0: {3}, none; on node 1: none, {67}
  const std::vector<ExpertPlacement> old = {placement(3, 3, {0, 1, 1, 1, 2, 2}), placement(70, 1, {67, 3})};
  const std::vector<ExpertPlacement> plan = {placement(3, 3, {0, 2, 2, 1, 1, 2}), placement(70, 1, {3, 67})};
  const MappingCosts costs = newly_assigned_experts(NodeExperts(old), NodeExperts(plan));
  CHECK(costs.costs == Nodes{1 + 1, 1 + 0, 1 + 0, 0 + 1});
}

TEST_CASE("node mapping: nodes that joined hold nothing, those that died are not asked") {
  // Nodes 10, 20 and 30 held experts {0}, {1} and {2}; 20 died, 25 and 40 joined.
  const ClusterPlacement placed{{placement(3, 1, {0, 1, 2})}, {10, 20, 30}};
  const NodeExperts held(placed, Nodes{10, 25, 30, 40});
  const std::vector<ExpertPlacement> plan = {placement(3, 1, {2, 0, 1})};
  const MappingCosts costs = newly_assigned_experts(held, NodeExperts(plan));
  CHECK(costs.costs == Nodes{1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1});
  CHECK(greedy_mapping(costs).physical_of == Nodes{2, 0, 1});
  CHECK(greedy_mapping(costs).cost == 1);
}

TEST_CASE("node mapping: names of rules are in the order of the enumerators") {
  CHECK(std::size(kMappingRuleNames) == 2);
  CHECK(kMappingRuleNames[static_cast<std::size_t>(MappingRule::kGreedy)] == "greedy");
  CHECK(kMappingRuleNames[static_cast<std::size_t>(MappingRule::kOptimal)] == "optimal");
}

TEST_CASE("node mapping: greedy kind by kind of node is greedy pair by pair") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    const testing::ReplacementCase of = testing::random_replacement(seed);
    const NodeExperts some(of.placed, of.live_ids);
    const NodeExperts wanted(of.plan);
    // Clusters in which most nodes are like others: some of those, again and again, in any order.
    RandomStream random(seed, "kinds");
    const auto repeated = [&](const NodeExperts& nodes, std::int32_t count) {
      Nodes which;
      for (std::int32_t i = 0; i < count; ++i)
        which.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(nodes.nodes()))));
      return nodes.of(which);
    };
    if (some.nodes() == 0 || wanted.nodes() == 0) continue;
    const auto alive = static_cast<std::int32_t>(1 + random.below(40));
    const NodeExperts held = repeated(some, alive);
    const NodeExperts plan = repeated(random.below(3) == 0 ? some : wanted,
                                      1 + static_cast<std::int32_t>(random.below(index(alive))));
    const NodeMapping pairs = greedy_mapping(newly_assigned_experts(held, plan));
    const NodeMapping kinds = greedy_mapping(held, plan);
    REQUIRE(kinds.physical_of == pairs.physical_of);
    REQUIRE(kinds.cost == pairs.cost);
  }
}

}  // namespace goodput
