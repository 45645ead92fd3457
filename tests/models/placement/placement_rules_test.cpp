// The placement plans that are made in one go, by hand and by their definitions, and how evenly they load.
#include "models/placement/placement_rules.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "models/placement/gpu_slots.h"
#include "sim/base/errors.h"
#include "sim/base/random.h"
#include "tests/support/placement_case.h"

namespace goodput {
namespace {

using doctest::Approx;
using Experts = std::vector<std::int32_t>;

std::vector<Experts> by_node(const ExpertPlacement& placement) {
  std::vector<Experts> nodes;
  for (std::int32_t n = 0; n < placement.nodes; ++n) {
    const auto node = placement.node(n);
    nodes.emplace_back(node.begin(), node.end());
  }
  return nodes;
}

Experts replicas_in(const ExpertPlacement& placement) {
  Experts replicas(static_cast<std::size_t>(placement.experts));
  for (const std::int32_t e : placement.expert_at) ++replicas[static_cast<std::size_t>(e)];
  return replicas;
}

// Some without loads, some without tokens.
struct RandomLayer {
  SlotGrid grid{};
  LayerDemand layer{};
  std::int32_t gpus = 1;
};
RandomLayer random_layer(std::uint64_t seed) {
  RandomStream random(seed, "layer");
  const std::int32_t gpus[] = {1, 1, 2, 4};
  RandomLayer made;
  made.gpus = gpus[random.below(4)];
  made.grid = {static_cast<std::int32_t>(1 + random.below(12)),
               made.gpus * static_cast<std::int32_t>(1 + random.below(4))};
  const auto most = std::min<std::int64_t>(made.grid.total(), 20);
  const auto experts = static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(most)));
  made.layer.replicas = testing::random_replicas_of(random, made.grid, experts);
  if (random.below(3) == 0) return made;
  const std::uint64_t range = random.below(8) == 0 ? 1 : 1000;
  for (std::int32_t e = 0; e < experts; ++e) {
    made.layer.loads.push_back(static_cast<std::int64_t>(random.below(range)));
  }
  return made;
}

// Slots of a node to GPUs, heaviest first, each to the least loaded with room: the load of the busiest.
double busiest_when_dealt(std::span<const std::int32_t> experts, const LayerDemand& layer,
                          std::int32_t gpus) {
  std::vector<double> loads;
  for (const std::int32_t e : experts) loads.push_back(layer.load_per_replica(e));
  std::ranges::sort(loads, std::greater<>());
  std::vector<double> sum(static_cast<std::size_t>(gpus));
  std::vector<std::size_t> held(sum.size());
  for (const double load : loads) {
    std::size_t to = sum.size();
    for (std::size_t g = 0; g < sum.size(); ++g) {
      if (held[g] < loads.size() / sum.size() && (to == sum.size() || sum[g] < sum[to])) to = g;
    }
    sum[to] += load;
    ++held[to];
  }
  return *std::ranges::max_element(sum);
}

}  // namespace

TEST_CASE("placement: maximum rank overlap by hand") {
  // Ascending: expert 0 (2), 2 (3), 3 (3), 1 (4). Groups {0, 2} on nodes 0 and 1, {3, 1} on nodes 2 to 4; a
  // replica of 2 and one of 1 are left for node 5.
  const LayerDemand layer{{2, 4, 3, 3}, {}};
  const auto groups = overlap_groups(layer, {6, 2});
  REQUIRE(groups.size() == 2);
  CHECK((groups[0].experts == Experts{0, 2} && groups[0].nodes == 2));
  CHECK((groups[1].experts == Experts{3, 1} && groups[1].nodes == 3));
  CHECK(is_untruncated(layer, {6, 2}));
  CHECK(by_node(place_mro(layer, {6, 2})) ==
        std::vector<Experts>{{0, 2}, {0, 2}, {1, 3}, {1, 3}, {1, 3}, {1, 2}});
}

TEST_CASE("placement: replicas left over go to the emptiest node, of several the first") {
  // All three experts on node 0; then expert 1 on nodes 1, 2, 1 and expert 2 on 2, 1, 2, 0, 1, 2.
  CHECK(by_node(place_mro({{1, 4, 7}, {}}, {3, 4})) ==
        std::vector<Experts>{{0, 1, 2, 2}, {1, 1, 2, 2}, {1, 2, 2, 2}});
}

TEST_CASE("placement: of experts with as many replicas those with less load stand first") {
  const auto groups = overlap_groups({{2, 2, 2, 2}, {9, 1, 8, 2}}, {4, 2});
  CHECK(groups[0].experts == Experts{1, 3});
  CHECK(groups[1].experts == Experts{2, 0});
}

TEST_CASE("placement: the last group is cut short where nodes run out") {
  const LayerDemand layer{{2, 2, 2}, {}};
  const auto groups = overlap_groups(layer, {3, 2});
  CHECK((groups[0].nodes == 2 && groups[1].nodes == 1));
  CHECK_FALSE(is_untruncated(layer, {3, 2}));
  CHECK(by_node(place_mro(layer, {3, 2})) == std::vector<Experts>{{0, 1}, {0, 1}, {2, 2}});
}

TEST_CASE("placement: spread deals replicas out over the nodes, compact fills node after node") {
  const LayerDemand layer{{3, 2, 3}, {}};  // 0 0 0 1 1 2 2 2
  CHECK(by_node(place_spread(layer, {4, 2})) == std::vector<Experts>{{0, 1}, {0, 2}, {0, 2}, {1, 2}});
  CHECK(by_node(place_compact(layer, {4, 2})) == std::vector<Experts>{{0, 0}, {0, 1}, {1, 2}, {2, 2}});
}

TEST_CASE("placement: EPLB puts the heaviest replica first, where the load is least and a slot is free") {
  // A replica of 0, 1 and 2 serves 10, 6 and 4: 0 on node 0, 1 on node 1 (6), 2 on node 1 (10, full), 2 on
  // node 0.
  const LayerDemand layer{{1, 1, 2}, {10, 6, 8}};
  CHECK(by_node(place_eplb(layer, {2, 2}, 1)) == std::vector<Experts>{{0, 2}, {1, 2}});
  // A GPU a slot: in order, and both replicas of 2 fail together.
  CHECK(by_node(place_eplb(layer, {2, 2}, 2)) == std::vector<Experts>{{0, 1}, {2, 2}});
}

TEST_CASE("placement: groups may stand anywhere") {
  const LayerDemand layer{{2, 3, 3}, {}};  // {0, 1} on two nodes, {2} on two
  const std::vector<std::vector<std::int32_t>> sets = {{1, 3}, {0, 2}};
  CHECK(by_node(place_groups(layer, {4, 2}, overlap_groups(layer, {4, 2}), sets)) ==
        std::vector<Experts>{{1, 2}, {0, 1}, {2, 2}, {0, 1}});
  const std::vector<std::vector<std::int32_t>> too_small = {{1}, {0, 2}};
  CHECK_THROWS_AS((void)place_groups(layer, {4, 2}, overlap_groups(layer, {4, 2}), too_small), InternalError);
}

TEST_CASE(
    "placement: every plan fills every slot with the replicas it was given, spread and compact by formula") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    INFO("seed " << seed);
    const auto [grid, layer, gpus] = random_layer(seed);
    const ExpertPlacement mro = place_mro(layer, grid);
    const ExpertPlacement spread = place_spread(layer, grid);
    const ExpertPlacement compact = place_compact(layer, grid);
    for (const ExpertPlacement& plan : {mro, spread, compact, place_eplb(layer, grid, gpus)}) {
      REQUIRE((plan.nodes == grid.nodes && plan.slots == grid.slots && plan.experts == layer.experts()));
      REQUIRE(plan.expert_at.size() == static_cast<std::size_t>(grid.total()));
      REQUIRE(replicas_in(plan) == layer.replicas);
      for (std::int32_t n = 0; n < plan.nodes; ++n) REQUIRE(std::ranges::is_sorted(plan.node(n)));
    }
    std::vector<Experts> dealt(static_cast<std::size_t>(grid.nodes));
    std::vector<Experts> filled(dealt.size());
    std::size_t i = 0;
    for (std::int32_t e = 0; e < layer.experts(); ++e) {
      for (std::int32_t r = 0; r < layer.replicas[static_cast<std::size_t>(e)]; ++r, ++i) {
        dealt[i % dealt.size()].push_back(e);
        filled[i / static_cast<std::size_t>(grid.slots)].push_back(e);
      }
    }
    REQUIRE(by_node(spread) == dealt);
    REQUIRE(by_node(compact) == filled);
  }
}

TEST_CASE("placement: every node of an overlap group holds all of its experts") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    INFO("seed " << seed);
    const auto [grid, layer, gpus] = random_layer(seed);
    const ExpertPlacement plan = place_mro(layer, grid);
    std::int32_t next = 0;
    for (const ExpertGroup& group : overlap_groups(layer, grid)) {
      for (std::int32_t n = 0; n < group.nodes; ++n, ++next) {
        for (const std::int32_t e : group.experts) REQUIRE(std::ranges::binary_search(plan.node(next), e));
      }
    }
    REQUIRE(next <= grid.nodes);
  }
}

TEST_CASE("placement: the load of a node is that of its replicas") {
  // Replicas of 0, 1 and 2 serve 10, 3 and 2 tokens. Node 0 {0, 1}, node 1 {1, 2}, node 2 {2, 2}: 13, 5, 4;
  // mean 22 / 3.
  const LayerDemand layer{{1, 2, 3}, {10, 6, 6}};
  const ExpertPlacement placement{3, 3, 2, {0, 1, 1, 2, 2, 2}};
  CHECK(node_loads(placement, layer) == std::vector<double>{13, 5, 4});
  CHECK(load_imbalance(placement, layer, 1).node_max_over_mean == Approx(13 * 3 / 22.0));
  CHECK(load_imbalance(placement, layer, 1).gpu_max_over_mean == Approx(13 * 3 / 22.0));
  // A GPU a slot: 10 of a mean of 22 / 6.
  CHECK(load_imbalance(placement, layer, 2).node_max_over_mean == Approx(13 * 3 / 22.0));
  CHECK(load_imbalance(placement, layer, 2).gpu_max_over_mean == Approx(10 * 6 / 22.0));
}

TEST_CASE("placement: a layer without tokens is even") {
  const LayerDemand idle{{1, 3}, {0, 0}};
  const LoadImbalance balance = load_imbalance(place_mro(idle, {2, 2}), idle, 2);
  CHECK((balance.node_max_over_mean == 1 && balance.gpu_max_over_mean == 1));
}

TEST_CASE("placement: swaps even out GPUs where dealing does not") {
  // Dealt: 12 9 8 and 11 10 6, 29 and 27. With 12 and 11 swapped, 28 and 28.
  const LayerDemand layer{{1, 1, 1, 1, 1, 1}, {12, 11, 10, 9, 8, 6}};
  const ExpertPlacement node{6, 1, 6, {0, 1, 2, 3, 4, 5}};
  CHECK(busiest_when_dealt(node.node(0), layer, 2) == 29);
  CHECK(node_loads(split_over_gpus(node, layer, 2), layer) == std::vector<double>{28, 28});
}

TEST_CASE("placement: GPUs of a node get as many slots each, and no more load than by dealing them out") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    INFO("seed " << seed);
    const auto [grid, layer, gpus] = random_layer(seed);
    const ExpertPlacement plan = place_mro(layer, grid);
    const ExpertPlacement split = split_over_gpus(plan, layer, gpus);
    REQUIRE((split.nodes == grid.nodes * gpus && split.slots * gpus == grid.slots));
    const std::vector<double> loads = node_loads(split, layer);
    for (std::int32_t n = 0; n < grid.nodes; ++n) {
      Experts together;
      double busiest = 0;
      for (std::int32_t g = n * gpus; g < (n + 1) * gpus; ++g) {
        const auto gpu = split.node(g);
        REQUIRE(std::ranges::is_sorted(gpu));
        together.insert(together.end(), gpu.begin(), gpu.end());
        busiest = std::max(busiest, loads[static_cast<std::size_t>(g)]);
      }
      std::ranges::sort(together);
      REQUIRE(std::ranges::equal(together, plan.node(n)));
      REQUIRE(busiest <= busiest_when_dealt(plan.node(n), layer, gpus) * (1 + 1e-12));
    }
  }
}

TEST_CASE("placement: GPUs that do not divide the slots are our bug") {
  const LayerDemand layer{{3, 3}, {}};
  CHECK_THROWS_AS((void)place_eplb(layer, {2, 3}, 2), InternalError);
  CHECK_THROWS_AS((void)split_over_gpus(place_mro(layer, {2, 3}), layer, 2), InternalError);
}

TEST_CASE("placement: replicas that are no allocation are said") {
  const auto problem = [](const Experts& replicas, const SlotGrid& grid) {
    const Status status = check_replicas(replicas, grid);
    return status ? "" : status.error().message();
  };
  CHECK(problem({2, 4}, {3, 2}).empty());
  CHECK(problem({6, 0}, {3, 2}) == "expert 1 must have at least 1 replica, not 0");
  CHECK(problem({-1, 7}, {3, 2}) == "expert 0 must have at least 1 replica, not -1");
  CHECK(problem({2, 3}, {3, 2}) == "the replicas add up to 5, but 3 nodes x 2 slots hold 6");
  CHECK(problem({}, {3, 2}) == "there are no experts; give the number of replicas of at least one expert");
}

}  // namespace goodput
