#include "sim/ops/replica_partition.h"

#include <doctest/doctest.h>

#include <vector>

#include "sim/base/errors.h"

namespace goodput {
namespace {

ReplicaPartition partition_of(const std::vector<std::uint32_t>& block_of) {
  return ReplicaPartition::of_blocks(block_of);
}

}  // namespace

TEST_CASE("partitions: an extreme partition is recognized however it was built") {
  CHECK(partition_of({7, 7, 7}) == ReplicaPartition::together());
  CHECK(partition_of({3, 0, 9}) == ReplicaPartition::apart());
  const ReplicaPartition pairs = partition_of({5, 2, 5, 2});
  CHECK_FALSE(pairs.is_extreme());
  CHECK(pairs == partition_of({0, 1, 0, 1}));
  CHECK(pairs.in_same_block(0, 2));
  CHECK_FALSE(pairs.in_same_block(0, 1));
  CHECK(pairs.fits(4));
  CHECK(pairs.fits(1));  // one that stands for all
  CHECK_FALSE(pairs.fits(3));
  CHECK(ReplicaPartition::together().expanded(3).members == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(ReplicaPartition::apart().expanded(3).size() == 3);
  CHECK_THROWS_AS((void)pairs.expanded(3), InternalError);
  CHECK_THROWS_AS((void)ReplicaPartition::of_blocks({}), InternalError);
}

}  // namespace goodput
