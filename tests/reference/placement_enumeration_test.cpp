// The two ways to find the best placement by trying agree, and count what can be counted by hand.
#include "tests/reference/placement_enumeration.h"

#include <doctest/doctest.h>

namespace goodput::reference {

TEST_CASE("reference placements: a failure set is survived when it holds nobody's nodes whole") {
  // Experts on {0, 1} and {2}: sets of one node that are survived: {0}, {1}; of two: none but... {0, 1} is
  // the first expert's, {0, 2} and {1, 2} hold the second's node.
  const std::uint32_t nodes[] = {0b011, 0b100};
  CHECK(survived_sets(nodes, 3) == SurvivedSets{1, 2, 0, 0});
}

TEST_CASE("reference placements: every placement is tried once up to the names of nodes") {
  // Six experts with a replica each on 3 nodes x 2 slots: 6! / (2!^3 3!) = 15 ways to pair them.
  const std::vector<std::int32_t> pairs(6, 1);
  CHECK(try_all_placements(pairs, 3, 2).placements == 15);
  // Two experts, two replicas each, on 2 x 2: {00}{11} and {01}{01}. The second survives a failure.
  const std::vector<std::int32_t> twos(2, 2);
  const SurvivalOptimum optimum = try_all_placements(twos, 2, 2);
  CHECK(optimum.placements == 2);
  CHECK(optimum.most == SurvivedSets{1, 2, 0});
  CHECK(optimum.at_every_k_at_once);
}

TEST_CASE("reference placements: vectors of replicas are the partitions of the slots") {
  CHECK(replica_vectors(2, 6, 1) == std::vector<std::vector<std::int32_t>>{{1, 5}, {2, 4}, {3, 3}});
  CHECK(replica_vectors(3, 6, 2) == std::vector<std::vector<std::int32_t>>{{2, 2, 2}});
  std::size_t vectors = 0;
  for (std::int32_t experts = 1; experts <= 12; ++experts) vectors += replica_vectors(experts, 12, 1).size();
  CHECK(vectors == 77);  // partitions of 12
}

TEST_CASE("reference placements: classes of nodes give the answer of all placements up to ten slots") {
  for (std::int32_t nodes = 2; nodes <= 10; ++nodes) {
    for (std::int32_t slots = 1; nodes * slots <= 10; ++slots) {
      for (std::int32_t experts = 1; experts <= nodes * slots; ++experts) {
        for (const auto& replicas : replica_vectors(experts, nodes * slots, 1)) {
          const SurvivalOptimum all = try_all_placements(replicas, nodes, slots);
          const auto classes = try_classes_of_nodes(replicas, nodes, slots);
          REQUIRE(classes);
          CHECK(classes->most == all.most);
          CHECK(classes->at_every_k_at_once == all.at_every_k_at_once);
        }
      }
    }
  }
}

TEST_CASE("reference placements: what was achieved before is no less, and no reason to miss more") {
  const std::vector<std::int32_t> replicas = {2, 3, 3};  // 4 nodes x 2 slots: 5 of 6 pairs of failures
  const auto alone = try_classes_of_nodes(replicas, 4, 2);
  REQUIRE(alone);
  CHECK(alone->most == SurvivedSets{1, 4, 5, 0, 0});
  CHECK(try_classes_of_nodes(replicas, 4, 2, {1, 4, 4, 0, 0})->most == alone->most);
  CHECK(try_classes_of_nodes(replicas, 4, 2, alone->most)->most == alone->most);
  CHECK_FALSE(try_classes_of_nodes(replicas, 4, 2, {}, 1));
}

}  // namespace goodput::reference
