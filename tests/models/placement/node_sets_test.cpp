// Sets of nodes, and which of them decide what a placement survives.
#include "models/placement/node_sets.h"

#include <doctest/doctest.h>

#include <vector>

#include "sim/base/errors.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

NodeSets sets_of(std::int32_t nodes, const std::vector<std::vector<std::int32_t>>& sets) {
  NodeSets all(nodes);
  for (std::size_t s = 0; s < sets.size(); ++s) {
    all.append_empty();
    for (const std::int32_t n : sets[s]) all.insert(s, n);
  }
  return all;
}

std::vector<std::vector<std::int32_t>> listed(const NodeSets& sets) {
  std::vector<std::vector<std::int32_t>> all(sets.size());
  for (std::size_t s = 0; s < sets.size(); ++s) {
    for (std::int32_t n = 0; n < sets.nodes(); ++n) {
      if (sets.contains(s, n)) all[s].push_back(n);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("node sets: nodes beyond the first word are kept apart") {
  NodeSets sets = sets_of(130, {{0, 63, 64, 129}, {1}});
  CHECK(listed(sets) == std::vector<std::vector<std::int32_t>>{{0, 63, 64, 129}, {1}});
  CHECK(sets.count(0) == 4);
  CHECK(sets.words(0).size() == 3);
  sets.erase(0, 64);
  sets.erase(1, 64);
  CHECK(listed(sets) == std::vector<std::vector<std::int32_t>>{{0, 63, 129}, {1}});
}

TEST_CASE("node sets: a set is a subset of itself and of what adds to it, also beyond the first word") {
  const NodeSets sets = sets_of(100, {{3, 70}, {3, 70, 99}, {3, 71}, {}});
  CHECK(is_subset(sets.words(0), sets.words(0)));
  CHECK(is_subset(sets.words(0), sets.words(1)));
  CHECK_FALSE(is_subset(sets.words(1), sets.words(0)));
  CHECK_FALSE(is_subset(sets.words(0), sets.words(2)));
  CHECK(is_subset(sets.words(3), sets.words(2)));
}

TEST_CASE("node sets: an expert has the nodes that hold it, once each") {
  // 3 nodes x 2 slots: node 0 {0, 0}, node 1 {0, 2}, node 2 {1, 2}
  const ExpertPlacement placement{3, 3, 2, {0, 0, 0, 2, 1, 2}};
  CHECK(listed(expert_nodes(placement)) == std::vector<std::vector<std::int32_t>>{{0, 1}, {2}, {1, 2}});
  // {1, 2} holds {2}.
  CHECK(listed(innermost(expert_nodes(placement))) == std::vector<std::vector<std::int32_t>>{{2}, {0, 1}});
}

TEST_CASE("node sets: of nested and equal sets one is left, small ones first") {
  const NodeSets sets = sets_of(5, {{0, 1, 2}, {3, 4}, {0, 1}, {3, 4}, {0, 1, 3}, {2, 3, 4}});
  CHECK(listed(innermost(sets)) == std::vector<std::vector<std::int32_t>>{{3, 4}, {0, 1}});
  CHECK(listed(innermost(sets_of(3, {{0, 1}, {}, {2}}))) == std::vector<std::vector<std::int32_t>>{{}});
}

TEST_CASE("node sets: innermost sets hold no other, and each set holds one of them") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "sets");
    const auto nodes = static_cast<std::int32_t>(1 + random.below(140));
    NodeSets sets(nodes);
    for (std::size_t s = 0; s < 20; ++s) {
      sets.append_empty();
      for (std::uint64_t i = random.below(6); i > 0; --i) {
        sets.insert(s, static_cast<std::int32_t>(
                           random.below(std::min<std::uint64_t>(8, static_cast<std::uint64_t>(nodes)))));
      }
      if (random.below(4) == 0) sets.insert(s, nodes - 1);
    }
    const NodeSets kept = innermost(sets);
    for (std::size_t a = 0; a < kept.size(); ++a) {
      for (std::size_t b = 0; b < kept.size(); ++b) {
        if (a != b) CHECK_FALSE(is_subset(kept.words(a), kept.words(b)));
      }
      if (a > 0) CHECK(kept.count(a - 1) <= kept.count(a));
    }
    for (std::size_t s = 0; s < sets.size(); ++s) {
      bool holds_one = false;
      for (std::size_t k = 0; k < kept.size(); ++k)
        holds_one = holds_one || is_subset(kept.words(k), sets.words(s));
      CHECK(holds_one);
    }
  }
}

TEST_CASE("node sets: layers are decided by the innermost sets of all of them") {
  // Nodes of the experts: {0}, {1} of one layer, {0, 1}, {1, 0} of the other.
  const ExpertPlacement apart{2, 2, 2, {0, 0, 1, 1}};
  const ExpertPlacement together{2, 2, 2, {0, 1, 0, 1}};
  const std::vector<ExpertPlacement> both = {together, apart};
  CHECK(listed(deciding_sets(both)) == std::vector<std::vector<std::int32_t>>{{0}, {1}});
  CHECK(listed(deciding_sets({&together, 1})) == std::vector<std::vector<std::int32_t>>{{0, 1}});
  CHECK_THROWS_AS((void)deciding_sets({}), InternalError);
}

TEST_CASE("expert placement: replicas go to the nodes named, a node as often as it is named") {
  const std::vector<std::vector<std::int32_t>> nodes_of = {{1, 1}, {0, 2}, {2, 0}};
  const ExpertPlacement placement = placement_of(nodes_of, 3, 2);
  CHECK(placement == ExpertPlacement{3, 3, 2, {1, 2, 0, 0, 1, 2}});
  const std::vector<std::vector<std::int32_t>> too_many = {{0, 0, 0}, {1}};
  CHECK_THROWS_AS((void)placement_of(too_many, 2, 2), InternalError);
  const std::vector<std::vector<std::int32_t>> too_few = {{0, 0}, {1}};
  CHECK_THROWS_AS((void)placement_of(too_few, 2, 2), InternalError);
}

}  // namespace goodput
