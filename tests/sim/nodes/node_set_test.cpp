#include "sim/nodes/node_set.h"

#include <doctest/doctest.h>

#include <set>

#include "sim/base/errors.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

using Ids = std::vector<NodeId>;

Ids ids_of(const NodeSet& set) {
  return {set.begin(), set.end()};
}

}  // namespace

TEST_CASE("node set: ids ascend, also across words and stretches that are empty") {
  NodeSet set;
  CHECK(set.begin() == set.end());
  for (const NodeId node : {5'000'000, 64, 0, 63, 4096, 4095}) CHECK(set.insert(node));
  CHECK(ids_of(set) == Ids{0, 63, 64, 4095, 4096, 5'000'000});
  CHECK(set.size() == 6);
  CHECK_FALSE(set.insert(63));
  CHECK(set.erase(4096));
  CHECK_FALSE(set.erase(4096));
  CHECK_FALSE(set.erase(6'000'000));
  CHECK(ids_of(set) == Ids{0, 63, 64, 4095, 5'000'000});
  CHECK(set.erase(5'000'000));
  CHECK(ids_of(set) == Ids{0, 63, 64, 4095});
  CHECK_FALSE(set.contains(5'000'000));
  CHECK_FALSE(set.contains(70'000'000));
  CHECK(set.contains(4095));
  CHECK_THROWS_AS(set.insert(-1), InternalError);
}

TEST_CASE("node set: nodes that are erased together are those that would be erased one by one") {
  NodeSet set;
  for (const NodeId node : {0, 63, 64, 4095, 4096, 70'000}) set.insert(node);
  set.erase(Ids{64, 1, 70'000, 4096, 100'000});  // 1 and 100,000 are not there
  CHECK(ids_of(set) == Ids{0, 63, 4095});
  CHECK(set.size() == 3);
  set.erase(Ids{0, 63, 4095});
  CHECK(set.begin() == set.end());
  CHECK(set.size() == 0);
}

TEST_CASE("node set: agrees with a sorted set") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "node set");
    const std::uint64_t range = std::uint64_t{1} << random.below(16);
    const bool shrinks = random.below(2) == 0;
    NodeSet set;
    std::set<NodeId> record;
    for (int i = 0; i < 500; ++i) {
      const auto node = static_cast<NodeId>(random.below(range));
      if (random.below(shrinks ? 2 : 4) == 0)
        REQUIRE(set.erase(node) == (record.erase(node) == 1));
      else
        REQUIRE(set.insert(node) == record.insert(node).second);
      REQUIRE(set.contains(node) == record.contains(node));
      REQUIRE(set.size() == record.size());
      if (i % 10 == 0) REQUIRE(ids_of(set) == Ids(record.begin(), record.end()));
    }
  }
}

}  // namespace goodput
