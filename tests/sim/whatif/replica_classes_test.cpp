#include "sim/whatif/replica_classes.h"

#include <doctest/doctest.h>

#include <vector>

#include "sim/base/errors.h"

namespace goodput {
namespace {

// Each by replica, the block it is in.
std::vector<ReplicaPartition> partitions_of(const std::vector<std::vector<std::uint32_t>>& blocks) {
  std::vector<ReplicaPartition> partitions;
  for (const std::vector<std::uint32_t>& block_of : blocks)
    partitions.push_back(ReplicaPartition::of_blocks(block_of));
  return partitions;
}

}  // namespace

TEST_CASE(
    "classes: with one lone replica and groups of one replica or all, all other replicas are one class") {
  const std::vector<ReplicaPartition> extremes = {ReplicaPartition::apart(), ReplicaPartition::together()};
  const std::vector<LoneReplicas> of_many = lone_replicas(extremes, 64);
  REQUIRE(of_many.size() == 1);
  CHECK(of_many[0].classes == 2);
  CHECK(of_many[0].replicas.size() == 64);
}

TEST_CASE("classes: a single replica is the only class, whatever its groups") {
  const std::vector<ReplicaPartition> pairs = partitions_of({{0, 0, 1, 1}});
  const std::vector<LoneReplicas> alone = lone_replicas(pairs, 1);
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].classes == 1);
  CHECK(alone[0].replicas == std::vector<std::uint32_t>{0});
  CHECK_THROWS_AS((void)lone_replicas(pairs, 3), InternalError);
}

TEST_CASE("classes: in a grid of 4 x 4 replicas four stand for all, whoever is alone") {
  // Rows are tensor-parallel groups, columns data-parallel ones. Beside the lone replica: its row, its
  // column, and all others, each of which meets one of the row and one of the column.
  std::vector<std::uint32_t> row(16);
  std::vector<std::uint32_t> column(16);
  for (std::uint32_t i = 0; i < 16; ++i) {
    row[i] = i / 4;
    column[i] = i % 4;
  }
  const std::vector<LoneReplicas> alike = lone_replicas(partitions_of({row, column}), 16);
  REQUIRE(alike.size() == 1);
  CHECK(alike[0].classes == 4);
  CHECK(alike[0].replicas.size() == 16);
}

TEST_CASE("classes: along a chain of pairs every replica is a class, by its distance from the lone one") {
  // 0-1 2-3 4-5 meet at one op, 1-2 3-4 at the next: what holds 0 up reaches 5 in the fifth meeting.
  const std::vector<ReplicaPartition> chain = partitions_of({{0, 0, 1, 1, 2, 2}, {0, 1, 1, 2, 2, 3}});
  const std::vector<LoneReplicas> alike = lone_replicas(chain, 6);
  // The ends of the chain are alike, and so are their neighbors, and the two in the middle.
  REQUIRE(alike.size() == 3);
  CHECK(alike[0].replicas == std::vector<std::uint32_t>{0, 5});
  CHECK(alike[1].replicas == std::vector<std::uint32_t>{1, 4});
  CHECK(alike[2].replicas == std::vector<std::uint32_t>{2, 3});
  for (const LoneReplicas& lone : alike) CHECK(lone.classes == 6);
}

}  // namespace goodput
