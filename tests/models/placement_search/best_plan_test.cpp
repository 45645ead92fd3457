// The plan `best` against all placements there are, and against the plans it must not fall below.
#include "models/placement_search/best_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "models/placement/gpu_slots.h"
#include "models/placement/survival.h"
#include "sim/base/random.h"
#include "tests/reference/placement_enumeration.h"
#include "tests/support/placement_case.h"
#include "tests/support/random_cases.h"

namespace goodput {
namespace {

using doctest::Approx;
using reference::SurvivalOptimum;
using reference::SurvivedSets;
using testing::survived_sets;
using Replicas = std::vector<std::int32_t>;

constexpr double kRounding = 1e-12;
const SearchEffort kShortSearch{.tried = 2'000, .moves = 2'000};

std::string named(const SlotGrid& grid, const Replicas& replicas) {
  std::string name =
      std::to_string(grid.nodes) + " nodes x " + std::to_string(grid.slots) + " slots, replicas";
  for (const std::int32_t r : replicas) name += " " + std::to_string(r);
  return name;
}

ExpertPlacement best_of(const LayerDemand& layer, const SlotGrid& grid) {
  return place_best({&layer, 1}, grid).front();
}

// `visit(grid, replicas)` for all settings of 2 nodes or more with so many slots in all.
template <typename Visit>
void for_all_layers(std::int32_t most_slots, Visit visit) {
  for (std::int32_t nodes = 2; nodes <= most_slots; ++nodes) {
    for (std::int32_t slots = 1; nodes * slots <= most_slots; ++slots) {
      for (std::int32_t experts = 1; experts <= nodes * slots; ++experts) {
        for (const Replicas& replicas : reference::replica_vectors(experts, nodes * slots, 1)) {
          visit(SlotGrid{nodes, slots}, replicas);
        }
      }
    }
  }
}

bool divides(const SlotGrid& grid, const Replicas& replicas) {
  return replicas.size() % static_cast<std::size_t>(grid.slots) == 0;
}

void check_no_less(const std::vector<double>& survival, const std::vector<double>& than) {
  REQUIRE(survival.size() == than.size());
  for (std::size_t k = 0; k < survival.size(); ++k) {
    INFO("failures " << k);
    CHECK(survival[k] >= than[k] - kRounding);
  }
}

// Nodes of every layer in an order of its own.
void shuffle_nodes(ExpertPlacement& placement, RandomStream& random) {
  for (std::int32_t n = placement.nodes; n > 1; --n) {
    const auto a = placement.node(n - 1);
    const auto b = placement.node(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(n))));
    if (a.data() != b.data()) std::swap_ranges(a.begin(), a.end(), b.begin());
  }
}

// Eq. 1 with f = 2.
std::vector<LayerDemand> eq1_layers(const testing::LayerLoads& loads, const SlotGrid& grid) {
  std::vector<LayerDemand> layers;
  for (const auto& layer : loads) {
    layers.push_back({allocate_replicas(Allocation::kEq1, layer, grid, 2).value().replicas, layer});
  }
  return layers;
}

std::vector<ExpertPlacement> placed(std::span<const LayerDemand> layers, const SlotGrid& grid,
                                    ExpertPlacement (*place)(const LayerDemand&, const SlotGrid&)) {
  std::vector<ExpertPlacement> placements;
  for (const LayerDemand& layer : layers) placements.push_back(place(layer, grid));
  return placements;
}

constexpr SlotGrid kTenBySix{10, 6};

}  // namespace

TEST_CASE("best: up to twelve slots no placement survives more, whatever number of nodes fails") {
  int layers = 0;
  for_all_layers(12, [&](const SlotGrid& grid, const Replicas& replicas) {
    INFO(named(grid, replicas));
    const SurvivalOptimum optimum = reference::try_all_placements(replicas, grid.nodes, grid.slots);
    CHECK(survived_sets(best_of({replicas, {}}, grid)) == optimum.most);
    CHECK(optimum.at_every_k_at_once);
    ++layers;
  });
  CHECK(layers == 763);
}

TEST_CASE("best: on a sample of larger truncated layers no placement survives more" *
          doctest::test_suite("release-only")) {
  // The whole study is tests/bench/placement_study.cpp; its table is in docs/validation.md.
  RandomStream random(1, "truncated layers");
  int found = 0;
  int mro_optimal = 0;
  for (int draw = 0; draw < 4000 && found < 150; ++draw) {
    const SlotGrid grid{static_cast<std::int32_t>(4 + random.below(7)),
                        static_cast<std::int32_t>(2 + random.below(3))};
    const auto experts =
        static_cast<std::int32_t>(static_cast<std::uint64_t>(grid.slots) + 1 + random.below(5));
    if (grid.total() <= 12 || grid.total() > 27 || experts > grid.total() / 2) continue;
    const LayerDemand layer{testing::random_replicas_of(random, grid, experts), {}};
    if (is_untruncated(layer, grid)) continue;
    INFO(named(grid, layer.replicas));
    const SurvivedSets best = survived_sets(best_of(layer, grid));
    const auto optimum =
        reference::try_classes_of_nodes(layer.replicas, grid.nodes, grid.slots, best, 100'000);
    if (!optimum || !optimum->at_every_k_at_once) continue;
    ++found;
    mro_optimal += survived_sets(place_mro(layer, grid)) == optimum->most ? 1 : 0;
    CHECK(best == optimum->most);
  }
  MESSAGE(found << " truncated layers; maximum rank overlap is optimal in " << mro_optimal);
  CHECK(found == 150);
  CHECK(mro_optimal < found);
}

TEST_CASE("best: where slots divide experts, or no group is cut short, maximum rank overlap is optimal") {
  int divided = 0;
  int untruncated = 0;
  int truncated = 0;
  int truncated_optimal = 0;
  for_all_layers(12, [&](const SlotGrid& grid, const Replicas& replicas) {
    INFO(named(grid, replicas));
    const LayerDemand layer{replicas, {}};
    const SurvivalOptimum optimum = reference::try_all_placements(replicas, grid.nodes, grid.slots);
    const bool is_optimal = survived_sets(place_mro(layer, grid)) == optimum.most;
    if (divides(grid, replicas)) {
      CHECK(is_optimal);
      CHECK(is_untruncated(layer, grid));
      ++divided;
    } else if (is_untruncated(layer, grid)) {
      CHECK(is_optimal);
      ++untruncated;
    } else {
      ++truncated;
      truncated_optimal += is_optimal ? 1 : 0;
    }
  });
  CHECK(divided + untruncated == 575);
  CHECK(truncated == 188);
  CHECK(truncated_optimal == 160);
}

TEST_CASE("best: counterexamples to the optimality of maximum rank overlap" * doctest::test_suite("slow")) {
  struct Counterexample {
    SlotGrid grid;
    Replicas replicas;
    std::size_t failures;
    std::int64_t mro, possible, sets;
  };
  const Counterexample cases[] = {
      {{3, 2}, {2, 2, 2}, 1, 2, 3, 3},         {{4, 2}, {2, 3, 3}, 2, 4, 5, 6},
      {{5, 2}, {3, 3, 4}, 3, 6, 8, 10},        {{4, 3}, {3, 3, 3, 3}, 2, 3, 6, 6},
      {{5, 2}, {2, 2, 2, 2, 2}, 1, 4, 5, 5},   {{6, 3}, {4, 4, 5, 5}, 4, 8, 13, 15},
      {{7, 4}, {5, 5, 6, 6, 6}, 5, 10, 19, 21}};
  for (const Counterexample& known : cases) {
    INFO(named(known.grid, known.replicas));
    const LayerDemand layer{known.replicas, {}};
    const auto optimum = reference::try_classes_of_nodes(known.replicas, known.grid.nodes, known.grid.slots);
    REQUIRE(optimum);
    CHECK(choose(known.grid.nodes, static_cast<std::int32_t>(known.failures)) ==
          static_cast<double>(known.sets));
    CHECK(optimum->most[known.failures] == known.possible);
    CHECK(survived_sets(place_mro(layer, known.grid))[known.failures] == known.mro);
    CHECK(survived_sets(best_of(layer, known.grid)) == optimum->most);
  }
}

TEST_CASE("best: on a large truncated cluster, not below either plan up to the failures that are compared" *
          doctest::test_suite("release-only")) {
  // Groups of 400 and 400 nodes do not fit on 600: maximum rank overlap leaves the last expert 200.
  const LayerDemand layer{{400, 400, 400}, {}};
  const SlotGrid grid{600, 2};
  const auto curve = [&](const ExpertPlacement& placement) {
    return *survival_by_recursion(deciding_sets({&placement, 1}), compared_failures(grid.nodes), 1U << 14);
  };
  const std::vector<double> best = curve(best_of(layer, grid));
  CHECK(best.size() == 65);
  for (const ExpertPlacement& plan : {place_mro(layer, grid), place_spread(layer, grid)}) {
    const std::vector<double> survived = curve(plan);
    for (std::size_t k = 0; k < best.size(); ++k) CHECK(best[k] >= survived[k] - kRounding);
  }
}

TEST_CASE("best: placements that a shorter search missed" * doctest::test_suite("release-only")) {
  CHECK(survived_sets(best_of({{3, 4, 4, 4, 5, 5, 10}, {}}, {7, 5})) ==
        SurvivedSets{1, 7, 21, 34, 31, 12, 0, 0});
  CHECK(survived_sets(best_of({{3, 5, 5, 6, 6, 7}, {}}, {8, 4})) ==
        SurvivedSets{1, 8, 28, 55, 65, 46, 15, 0, 0});
}

TEST_CASE("best: experts that all fit on a node are nested, 7 of 10 triples of failures survived") {
  const LayerDemand layer{{2, 3, 5, 10}, {}};
  CHECK(survived_sets(best_of(layer, {5, 4})) == SurvivedSets{1, 5, 9, 7, 2, 0});
  CHECK(survived_sets(place_mro(layer, {5, 4})) == SurvivedSets{1, 5, 9, 7, 2, 0});
}

TEST_CASE("best: never below maximum rank overlap or spread on larger clusters" *
          doctest::test_suite("release-only")) {
  int truncated = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(40); ++seed) {
    RandomStream random(seed, "larger clusters");
    const SlotGrid grid{static_cast<std::int32_t>(11 + random.below(30)),
                        static_cast<std::int32_t>(1 + random.below(8))};
    const auto most = static_cast<std::uint64_t>(std::min<std::int64_t>(grid.total() / 2, 30));
    const auto experts = static_cast<std::int32_t>(2 + random.below(most - 1));
    LayerDemand layer{testing::random_replicas_of(random, grid, experts), {}};
    INFO("seed " << seed << ": " << named(grid, layer.replicas));
    if (random.below(2) == 0) {
      for (std::int32_t e = 0; e < experts; ++e)
        layer.loads.push_back(static_cast<std::int64_t>(random.below(1000)));
    }
    truncated += is_untruncated(layer, grid) ? 0 : 1;
    const auto exact = [](const ExpertPlacement& plan) {
      return survival_by_recursion(deciding_sets({&plan, 1}), plan.nodes, std::size_t{1} << 14);
    };
    const auto best = exact(best_of(layer, grid));
    for (const auto& other : {exact(place_mro(layer, grid)), exact(place_spread(layer, grid))}) {
      if (!other) continue;  // not known to be more
      REQUIRE(best);
      check_no_less(*best, *other);
    }
  }
  MESSAGE(truncated << " of 40 layers are truncated");
  CHECK(truncated >= static_cast<int>(testing::cases(12)));
}

// Where neither plan survives what the other does, `best` may be maximum rank overlap.
TEST_CASE("best: layers that fail together survive no less than the same layers in either plan" *
          doctest::test_suite("slow")) {
  int below_spread = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    RandomStream random(seed, "joint layers");
    const SlotGrid grid{static_cast<std::int32_t>(5 + random.below(12)),
                        static_cast<std::int32_t>(2 + random.below(4))};
    std::vector<LayerDemand> layers;
    const auto most = static_cast<std::uint64_t>(grid.total() / 3);
    const auto experts = static_cast<std::int32_t>(2 + random.below(most - 1));
    for (int layer = 0; layer < 4; ++layer) {
      layers.push_back({testing::random_replicas_of(random, grid, experts), {}});
    }
    INFO("seed " << seed << ": " << named(grid, layers.front().replicas));
    const std::vector<ExpertPlacement> best = place_best(layers, grid, kShortSearch);
    const std::vector<ExpertPlacement> mro = placed(layers, grid, place_mro);
    const std::vector<double> survival = testing::exact_survival(best);
    check_no_less(survival, testing::exact_survival(mro));
    const std::vector<double> spread = testing::exact_survival(placed(layers, grid, place_spread));
    if (best != mro) {
      check_no_less(survival, spread);
    } else if (!std::ranges::equal(spread, survival, [](double s, double b) { return s <= b + kRounding; })) {
      ++below_spread;
    }
  }
  CHECK(below_spread <= 1);
}

TEST_CASE(
    "best: replicas stay, and nodes are no less even than in maximum rank overlap of an untruncated layer" *
    doctest::test_suite("slow")) {
  for (std::uint64_t seed = 0; seed < testing::cases(40); ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "balanced layers");
    const SlotGrid grid{static_cast<std::int32_t>(4 + random.below(20)),
                        static_cast<std::int32_t>(2 + random.below(6))};
    const auto experts = static_cast<std::int32_t>(2 + random.below(static_cast<std::uint64_t>(grid.slots)));
    const auto loads = testing::zipf_loads({1, static_cast<std::size_t>(experts), 1, seed});
    const LayerDemand layer = eq1_layers(loads, grid).front();
    const ExpertPlacement best = place_best({&layer, 1}, grid, kShortSearch).front();
    Replicas replicas(layer.replicas.size());
    for (const std::int32_t e : best.expert_at) ++replicas[static_cast<std::size_t>(e)];
    CHECK(replicas == layer.replicas);
    if (!is_untruncated(layer, grid)) continue;
    CHECK(load_imbalance(best, layer, 1).node_max_over_mean <=
          load_imbalance(place_mro(layer, grid), layer, 1).node_max_over_mean + kRounding);
  }
}

TEST_CASE("best: the same input gives the same slots, whichever other seed is tried in between") {
  const LayerDemand layer{{4, 5, 6, 8, 9, 10, 6}, {40, 50, 70, 90, 100, 120, 60}};  // 12 nodes x 4 slots
  const ExpertPlacement first = best_of(layer, {12, 4});
  SearchEffort other;
  other.seed = 1;
  const ExpertPlacement second = place_best({&layer, 1}, {12, 4}, other).front();
  CHECK(best_of(layer, {12, 4}) == first);
  check_no_less(testing::exact_survival({&second, 1}), testing::exact_survival({&first, 1}));
}

TEST_CASE("bound: no placement survives more, and untruncated layers reach it") {
  for_all_layers(12, [&](const SlotGrid& grid, const Replicas& replicas) {
    INFO(named(grid, replicas));
    const LayerDemand layer{replicas, {}};
    const SurvivalOptimum optimum = reference::try_all_placements(replicas, grid.nodes, grid.slots);
    const std::vector<double> bound = survival_bound({&layer, 1}, grid, grid.nodes);
    for (std::int32_t k = 0; k <= grid.nodes; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const double possible = static_cast<double>(optimum.most[at]) / choose(grid.nodes, k);
      CHECK(bound[at] >= possible - kRounding);
      if (is_untruncated(layer, grid)) CHECK(std::abs(bound[at] - possible) <= kRounding);
    }
  });
}

TEST_CASE("bound: of several layers the lowest counts") {
  const std::vector<LayerDemand> layers = {{{2, 8}, {}}, {{3, 7}, {}}};
  const std::vector<double> bound = survival_bound(layers, {5, 2}, 5);
  const LayerDemand rare = layers.front();
  CHECK(bound == survival_bound({&rare, 1}, {5, 2}, 5));
}

TEST_CASE("best: GPT-L on the published trace survives as often as was found by other means") {
  const auto loads = testing::published_loads(201, 16);
  if (!loads) {
    MESSAGE("skipped: no shared data");
    return;
  }
  const std::vector<LayerDemand> layers = eq1_layers(*loads, kTenBySix);
  std::vector<ExpertPlacement> mro = placed(layers, kTenBySix, place_mro);
  const std::vector<double> aligned = testing::exact_survival(mro);
  const double printed[] = {1, 1, .933, .800, .614, .405, .210};
  for (std::size_t k = 0; k < std::size(printed); ++k) CHECK(std::abs(aligned[k] - printed[k]) <= 5e-4);
  check_no_less(testing::exact_survival(place_best(layers, kTenBySix)), aligned);

  CHECK(testing::exact_survival(placed(layers, kTenBySix, place_spread))[4] ==
        Approx(25 / 210.0).epsilon(kRounding));
  const std::vector<double> compact = testing::exact_survival(placed(layers, kTenBySix, place_compact));
  CHECK(compact[0] == 1);
  for (std::size_t k = 1; k < compact.size(); ++k) CHECK(compact[k] == 0);

  // Nodes in another order in every layer: layers no longer fail together. Mean of 200 orders.
  RandomStream random(1, "orders of nodes");
  double sum = 0;
  for (int order = 0; order < 200; ++order) {
    for (ExpertPlacement& layer : mro) shuffle_nodes(layer, random);
    sum += testing::exact_survival(mro)[4];
  }
  MESSAGE("nodes in an order of their own in every layer: " << sum / 200 << " of four failures survived");
  CHECK(std::abs(sum / 200 - .010) <= .004);
}

}  // namespace goodput
