// Probabilities to survive: three ways to find them, and closed forms.
#include "models/placement/survival.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "models/placement/placement_rules.h"
#include "sim/base/errors.h"
#include "tests/support/placement_case.h"
#include "tests/support/random_placement.h"

namespace goodput {
namespace {

using doctest::Approx;

// Sums of a few dozen products of numbers up to 1.
constexpr double kRounding = 1e-12;
constexpr std::size_t kMaxStates = std::size_t{1} << 20;

NodeSets disjoint_sets(std::int32_t nodes, const std::vector<std::int32_t>& sizes) {
  NodeSets sets(nodes);
  std::int32_t next = 0;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    sets.append_empty();
    for (std::int32_t i = 0; i < sizes[s]; ++i) sets.insert(s, next++);
  }
  return sets;
}

// No set of these sizes lies within k failed nodes: inclusion and exclusion over the sets that do.
double survived_by_disjoint(std::int32_t nodes, const std::vector<std::int32_t>& sizes, std::int32_t k) {
  double sum = 0;
  for (std::uint32_t dead = 0; dead < 1U << sizes.size(); ++dead) {
    std::int32_t in_dead = 0;
    for (std::size_t s = 0; s < sizes.size(); ++s) in_dead += (dead >> s & 1U) != 0 ? sizes[s] : 0;
    sum += (std::popcount(dead) % 2 == 0 ? 1 : -1) * choose(nodes - in_dead, k - in_dead);
  }
  return sum / choose(nodes, k);
}

// Between 1 and `most_nodes` nodes.
ExpertPlacement any_placement(RandomStream& random, std::int32_t most_nodes) {
  const auto nodes = static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(most_nodes)));
  const auto slots = static_cast<std::int32_t>(1 + random.below(5));
  const auto most = std::min(nodes * slots, 16);
  const auto experts = static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(most)));
  return testing::random_placement(random, experts, nodes, slots);
}

}  // namespace

TEST_CASE("survival: n choose k, in doubles") {
  CHECK(choose(0, 0) == 1);
  CHECK(choose(10, 4) == 210);
  CHECK(choose(10, 10) == 1);
  CHECK(choose(3, 4) == 0);
  CHECK(choose(3, -1) == 0);
  CHECK(choose(52, 26) == 495918532948104);
  CHECK(choose(2000, 1000) == std::numeric_limits<double>::infinity());
}

TEST_CASE("survival: five nodes with the rarest expert on two survive 7 of 10 triples of failures") {
  // All experts fit on a node; their node sets are nested, so the rarest decides. Fatal: its two nodes and
  // one of the other three.
  const LayerDemand layer{{2, 3, 5, 10}, {}};
  const ExpertPlacement placement = place_mro(layer, {5, 4});
  const auto curve = survival(deciding_sets({&placement, 1}), 0, 5);
  REQUIRE(curve.size() == 6);
  const double expected[] = {1, 1, 9.0 / 10, 7.0 / 10, 2.0 / 5, 0};
  for (std::size_t k = 0; k < curve.size(); ++k) {
    CHECK(curve[k].failures == static_cast<std::int32_t>(k));
    CHECK(curve[k].probability == Approx(expected[k]).epsilon(kRounding));
    CHECK(curve[k].method == SurvivalMethod::kExact);
    CHECK(curve[k].low == curve[k].probability);
    CHECK(curve[k].high == curve[k].probability);
  }
}

TEST_CASE("survival: recursion and trial of all failures count what the slow reference counts") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "survival");
    const ExpertPlacement placement = any_placement(random, 12);
    const NodeSets sets = deciding_sets({&placement, 1});
    const reference::SurvivedSets counted = testing::survived_sets(placement);
    const auto exact = survival_by_recursion(sets, placement.nodes, kMaxStates);
    REQUIRE(exact);
    for (std::int32_t k = 0; k <= placement.nodes; ++k) {
      INFO("failures " << k);
      const auto at = static_cast<std::size_t>(k);
      const double expected = static_cast<double>(counted[at]) / choose(placement.nodes, k);
      CHECK(std::abs((*exact)[at] - expected) <= kRounding);
      CHECK(std::abs(survival_by_enumeration(sets, k) - expected) <= kRounding);
    }
  }
}

TEST_CASE("survival: several layers survive what all of them do") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "layers");
    std::vector<ExpertPlacement> layers;
    std::vector<std::uint32_t> nodes_of;
    for (int layer = 0; layer < 3; ++layer) {
      layers.push_back(testing::random_placement(random, 4, 9, 2));
      const NodeSets sets = expert_nodes(layers.back());
      for (std::size_t s = 0; s < sets.size(); ++s) {
        nodes_of.push_back(static_cast<std::uint32_t>(sets.words(s).front()));
      }
    }
    const auto counted = reference::survived_sets(nodes_of, 9);
    const std::vector<double> exact = testing::exact_survival(layers);
    for (std::int32_t k = 0; k <= 9; ++k) {
      const auto at = static_cast<std::size_t>(k);
      CHECK(std::abs(exact[at] - static_cast<double>(counted[at]) / choose(9, k)) <= kRounding);
    }
  }
}

TEST_CASE("survival: disjoint sets follow inclusion and exclusion, however many nodes there are") {
  const std::pair<std::int32_t, std::vector<std::int32_t>> cases[] = {
      {10, {2, 3, 5}}, {12, {1, 1, 1}}, {40, {2, 3, 3, 4, 9}}, {200, {2, 2, 5}}};
  for (const auto& of_size : cases) {
    const std::int32_t nodes = of_size.first;
    const std::vector<std::int32_t>& sizes = of_size.second;
    const NodeSets sets = disjoint_sets(nodes, sizes);
    const auto exact = survival_by_recursion(sets, 8, 2);
    REQUIRE(exact);
    for (std::int32_t k = 0; k <= 8; ++k) {
      INFO(nodes << " nodes, " << k << " failures");
      const double expected = survived_by_disjoint(nodes, sizes, k);
      CHECK(std::abs((*exact)[static_cast<std::size_t>(k)] - expected) <= kRounding);
      if (choose(nodes, k) < 1e6) CHECK(std::abs(survival_by_enumeration(sets, k) - expected) <= kRounding);
    }
  }
}

TEST_CASE("survival: an expert that nobody holds is lost from the start") {
  NodeSets sets = disjoint_sets(6, {2, 3});
  sets.append_empty();
  CHECK(survival_by_recursion(sets, 6, kMaxStates) == std::vector<double>(7));
  for (const Survival& at : survival(sets, 0, 6)) CHECK(at.probability == 0);
  CHECK(survival_by_enumeration(sets, 2) == 0);
  CHECK(survival_by_sampling(sets, 2, 100, 1).probability == 0);
}

TEST_CASE(
    "survival: certain without failures, impossible without nodes, and never more likely with more "
    "failures") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "monotone");
    const ExpertPlacement placement = any_placement(random, 30);
    const auto curve = survival(deciding_sets({&placement, 1}), 0, placement.nodes);
    CHECK(curve.front().probability == 1);
    CHECK(curve.back().probability == 0);
    for (std::size_t k = 1; k < curve.size(); ++k) {
      CHECK(curve[k].probability <= curve[k - 1].probability + kRounding);
    }
  }
}

TEST_CASE("survival: about 95 of 100 intervals of drawn failures hold the exact probability") {
  constexpr int kPlacements = 400;
  int held = 0;
  for (std::uint64_t seed = 0; seed < kPlacements; ++seed) {
    RandomStream random(seed, "intervals");
    const ExpertPlacement placement = testing::random_placement(random, 6, 10, 3);
    const NodeSets sets = deciding_sets({&placement, 1});
    const auto failures = static_cast<std::int32_t>(1 + random.below(5));
    const Survival drawn = survival_by_sampling(sets, failures, 2000, seed);
    CHECK(drawn.method == SurvivalMethod::kMonteCarlo);
    CHECK(drawn.failures == failures);
    CHECK(drawn.low <= drawn.probability);
    CHECK(drawn.probability <= drawn.high);
    const double exact = survival_by_enumeration(sets, failures);
    held += drawn.low <= exact && exact <= drawn.high ? 1 : 0;
  }
  MESSAGE(held << " of " << kPlacements << " intervals hold the probability");
  // Binomial: 380 +- 4.4, and some cases are certain; five deviations.
  CHECK(held >= 358);
}

TEST_CASE("survival: Wilson's interval, one case by hand") {
  // A node of two holds the expert: half of the draws of one failure are fatal. With z = 1.959964 and n = 4,
  // p = k/4: centre (p + z^2/8) / (1 + z^2/4), half width z sqrt(p(1-p)/4 + z^2/64) / (1 + z^2/4).
  const NodeSets sets = disjoint_sets(2, {1});
  const Survival drawn = survival_by_sampling(sets, 1, 4, 3);
  const double p = drawn.probability;
  CHECK((p == 0.25 || p == 0.5 || p == 0.75));
  const double z2 = 3.841458820694124;
  const double centre = (p + z2 / 8) / (1 + z2 / 4);
  const double half = std::sqrt(z2 * (p * (1 - p) / 4 + z2 / 64)) / (1 + z2 / 4);
  CHECK(drawn.low == Approx(centre - half).epsilon(kRounding));
  CHECK(drawn.high == Approx(centre + half).epsilon(kRounding));
}

TEST_CASE(
    "survival: where the recursion has too many states failures are tried, and where these are too many, "
    "drawn") {
  const NodeSets sets = disjoint_sets(10, {2, 3, 5});
  CHECK_FALSE(survival_by_recursion(sets, 4, 1));
  SurvivalOptions options;
  const double exact = survival(sets, 4, 4, options).front().probability;
  CHECK(exact == Approx(survived_by_disjoint(10, {2, 3, 5}, 4)).epsilon(kRounding));
  options.max_states = 1;
  const Survival tried = survival(sets, 4, 4, options).front();
  CHECK(tried.method == SurvivalMethod::kExact);
  CHECK(tried.probability == Approx(exact).epsilon(kRounding));
  options.max_enumerated = 209;  // of 10 choose 4 = 210
  options.samples = 100'000;
  const Survival drawn = survival(sets, 4, 4, options).front();
  CHECK(drawn.method == SurvivalMethod::kMonteCarlo);
  CHECK(std::abs(drawn.probability - exact) < 0.01);
}

TEST_CASE("survival: more than 64 sets open at once are beyond the recursion") {
  // 70 sets {i, i + 70} and all of them with a node of their own: each is open for 70 nodes in any order in
  // which first halves come first. The order that finishes sets keeps one open.
  NodeSets pairs(140);
  for (std::size_t s = 0; s < 70; ++s) {
    pairs.append_empty();
    pairs.insert(s, static_cast<std::int32_t>(s));
    pairs.insert(s, static_cast<std::int32_t>(s) + 70);
  }
  CHECK(survival_by_recursion(pairs, 3, 2));
  // Sets of all nodes but one: all 80 are open from the second node on.
  NodeSets all_but_one(80);
  for (std::size_t s = 0; s < 80; ++s) {
    all_but_one.append_empty();
    for (std::int32_t n = 0; n < 80; ++n) {
      if (n != static_cast<std::int32_t>(s)) all_but_one.insert(s, n);
    }
  }
  CHECK_FALSE(survival_by_recursion(all_but_one, 3, kMaxStates));
  CHECK(survival(all_but_one, 2, 2).front().probability == 1);
  CHECK(survival(all_but_one, 79, 79).front().probability == 0);
}

TEST_CASE("survival: the same seed draws the same failures, another others") {
  const NodeSets sets = disjoint_sets(10, {2, 3, 5});
  CHECK(survival_by_sampling(sets, 4, 1000, 7).probability ==
        survival_by_sampling(sets, 4, 1000, 7).probability);
  CHECK(survival_by_sampling(sets, 4, 1000, 7).probability !=
        survival_by_sampling(sets, 4, 1000, 8).probability);
}

TEST_CASE("survival: a range of failures that cannot be is our bug") {
  const NodeSets sets = disjoint_sets(4, {2});
  CHECK_THROWS_AS((void)survival(sets, -1, 2), InternalError);
  CHECK_THROWS_AS((void)survival(sets, 3, 2), InternalError);
  CHECK_THROWS_AS((void)survival(sets, 0, 5), InternalError);
}

TEST_CASE("survival: fewer failures than any expert has nodes are survived for certain, not almost") {
  // 50 experts on 20 of 1000 nodes each: 19 failures cannot take all of one, and drawing them would say so
  // only nearly.
  NodeSets sets(1000);
  for (std::int32_t e = 0; e < 50; ++e) {
    sets.append_empty();
    for (std::int32_t i = 0; i < 20; ++i) sets.insert(static_cast<std::size_t>(e), 20 * e + i);
  }
  SurvivalOptions by_drawing;
  by_drawing.max_states = 0;
  for (const SurvivalOptions& options : {SurvivalOptions{}, by_drawing}) {
    for (const Survival& s : survival(sets, 0, 19, options)) {
      CHECK(s.probability == 1);
      CHECK(s.method == SurvivalMethod::kExact);
    }
  }
  double before = 1;
  for (const Survival& s : survival(sets, 0, 60)) {
    CHECK(s.probability <= before);
    before = s.probability;
  }
}

}  // namespace goodput
