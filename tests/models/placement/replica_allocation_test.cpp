// Numbers of replicas: Eq. 1 of Lazarus against a slow reference, and what every allocation has to keep.
#include "models/placement/replica_allocation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "tests/support/random_cases.h"

namespace goodput {
namespace {

using Counts = std::vector<std::int32_t>;
using Loads = std::vector<std::int64_t>;
__extension__ using Wide = unsigned __int128;

constexpr Allocation kAllocations[] = {Allocation::kEq1, Allocation::kEplb, Allocation::kBalanced};

Counts replicas_of(Allocation allocation, const Loads& loads, const SlotGrid& grid,
                   std::int32_t min_replicas) {
  const Result<ReplicaCounts> counts = allocate_replicas(allocation, loads, grid, min_replicas);
  REQUIRE_MESSAGE(counts, (counts ? "" : counts.error().message()));
  return counts->replicas;
}

// Eq. 1 as it is printed, expert after expert with sums of its own; floors are found by counting.
Counts eq1_as_printed(Loads loads, const SlotGrid& grid, std::int32_t f) {
  if (std::ranges::all_of(loads, [](std::int64_t load) { return load == 0; })) loads.assign(loads.size(), 1);
  std::vector<std::size_t> order(loads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return loads[a] < loads[b]; });
  Counts replicas(loads.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    Wide from_here = 0;
    Wide left = static_cast<Wide>(grid.total());
    for (std::size_t j = 0; j < i; ++j) left -= static_cast<Wide>(replicas[order[j]]);
    for (std::size_t j = i; j < order.size(); ++j) from_here += static_cast<Wide>(loads[order[j]]);
    std::int32_t share = 0;
    while (static_cast<Wide>(share + 1) * from_here <= static_cast<Wide>(loads[order[i]]) * left) ++share;
    replicas[order[i]] = std::max(share, f);
  }
  return replicas;
}

struct AllocationCase {
  SlotGrid grid{};
  Loads loads{};
  std::int32_t min_replicas = 1;
};

// Few or many tokens (up to 2^62 in all), often ties, zeros, or hardly any.
AllocationCase random_case(std::uint64_t seed) {
  RandomStream random(seed, "allocation");
  AllocationCase made;
  made.grid = {static_cast<std::int32_t>(1 + random.below(10)),
               static_cast<std::int32_t>(1 + random.below(7))};
  const auto most = std::min<std::uint64_t>(static_cast<std::uint64_t>(made.grid.total()), 14);
  made.loads.resize(1 + random.below(most));
  const std::uint64_t kind = random.below(5);
  const std::uint64_t range = std::uint64_t{1} << (kind == 0   ? 1
                                                   : kind == 1 ? 4
                                                   : kind == 2 ? 20
                                                   : kind == 3 ? 40
                                                               : 58);
  for (std::int64_t& load : made.loads) {
    load = random.below(6) == 0 ? 0 : static_cast<std::int64_t>(random.below(range));
  }
  if (random.below(20) == 0) made.loads.assign(made.loads.size(), 0);
  if (random.below(10) == 0) made.loads[random.below(made.loads.size())] = std::int64_t{1} << 62;
  made.min_replicas = static_cast<std::int32_t>(1 + random.below(4));
  return made;
}

// f as far as there are slots for it.
std::int32_t least_of(const AllocationCase& made) {
  return std::min(made.min_replicas, static_cast<std::int32_t>(made.grid.total() /
                                                               static_cast<std::int64_t>(made.loads.size())));
}

// Whether nobody who got more than `floor` took a replica while somebody else was busier: a / (r_a - 1) is
// what one of its replicas had to serve when it took the last.
bool spare_went_to_busiest(const Loads& loads, const Counts& replicas, const Counts& floor) {
  for (std::size_t a = 0; a < loads.size(); ++a) {
    if (replicas[a] == floor[a]) continue;
    for (std::size_t b = 0; b < loads.size(); ++b) {
      if (static_cast<Wide>(loads[a]) * static_cast<Wide>(replicas[b]) <
          static_cast<Wide>(loads[b]) * static_cast<Wide>(replicas[a] - 1)) {
        return false;
      }
    }
  }
  return true;
}

std::string problem(const Loads& loads, const SlotGrid& grid, std::int32_t min_replicas) {
  const Result<ReplicaCounts> counts = allocate_replicas(Allocation::kBalanced, loads, grid, min_replicas);
  return counts ? "" : counts.error().message();
}

constexpr std::uint64_t kCases = 100'000;

}  // namespace

TEST_CASE("allocation: Eq. 1 by hand") {
  // 10 slots, f = 2. 10 of 100 tokens: floor(1) < f, 2. 20 of 90, 8 slots left: floor(1.78) < f, 2. 30 of 70,
  // 6 left: floor(2.57) = 2. 40 of 40: 4.
  CHECK(replicas_of(Allocation::kEq1, {40, 10, 30, 20}, {5, 2}, 2) == Counts{4, 2, 2, 2});
  // Without the threshold: floor(1), floor(20 / 90 * 9) = 2, floor(30 / 70 * 7) = 3, 4.
  CHECK(replicas_of(Allocation::kEq1, {40, 10, 30, 20}, {5, 2}, 1) == Counts{4, 1, 3, 2});
}

TEST_CASE("allocation: an expert may get more replicas than there are nodes") {
  CHECK(replicas_of(Allocation::kEq1, {1, 1000}, {3, 4}, 2) == Counts{2, 10});
}

TEST_CASE("allocation: EPLB by hand") {
  // A replica each; then the busiest: 40, then 30, then 40 / 2 = 20 (tied with 20, which has fewer replicas).
  CHECK(replicas_of(Allocation::kEplb, {40, 10, 30, 20}, {7, 1}, 1) == Counts{2, 1, 2, 2});
  // ... then 40 / 2 = 20 after all.
  CHECK(replicas_of(Allocation::kEplb, {40, 10, 30, 20}, {4, 2}, 1) == Counts{3, 1, 2, 2});
}

TEST_CASE(
    "allocation: balanced keeps what Eq. 1 gives the first of each group, and the rest goes to the busiest") {
  // 4 nodes x 3 slots, f = 2: Eq. 1 gives 2, 2, 2, 6 (2 of 12 slots for 10 of 300 tokens, ...): floors 2, 2,
  // 2 of the group of three, 6 of the group of one.
  const Loads loads = {10, 20, 30, 240};
  CHECK(replicas_of(Allocation::kEq1, loads, {4, 3}, 2) == Counts{2, 2, 2, 6});
  CHECK(replicas_of(Allocation::kBalanced, loads, {4, 3}, 2) == Counts{2, 2, 2, 6});
  // 4 x 4: floor 2 for all, 8 to the busiest: 240 / 9 = 27 > 30 / 2.
  CHECK(replicas_of(Allocation::kEq1, loads, {4, 4}, 2) == Counts{2, 2, 2, 10});
  CHECK(replicas_of(Allocation::kBalanced, loads, {4, 4}, 2) == Counts{2, 2, 2, 10});
  // Loads 10, 50, 60 on 4 x 3, f = 1: Eq. 1 gives 1, 5, 6; so does the rule of the busiest.
  CHECK(replicas_of(Allocation::kBalanced, {10, 50, 60}, {4, 3}, 1) == Counts{1, 5, 6});
}

TEST_CASE("allocation: every slot is given out, nobody gets less than f, and more load is no fewer replicas" *
          doctest::test_suite("slow")) {
  for (std::uint64_t seed = 0; seed < testing::cases(kCases); ++seed) {
    INFO("seed " << seed);
    const AllocationCase made = random_case(seed);
    for (const Allocation allocation : kAllocations) {
      const auto counts = allocate_replicas(allocation, made.loads, made.grid, made.min_replicas);
      REQUIRE(counts);
      REQUIRE(counts->min_replicas == least_of(made));
      REQUIRE(std::accumulate(counts->replicas.begin(), counts->replicas.end(), std::int64_t{0}) ==
              made.grid.total());
      REQUIRE(std::ranges::min(counts->replicas) >= counts->min_replicas);
      for (std::size_t a = 0; a < made.loads.size(); ++a) {
        for (std::size_t b = 0; b < made.loads.size(); ++b) {
          const bool a_first = made.loads[a] != made.loads[b] ? made.loads[a] < made.loads[b] : a < b;
          if (a_first && counts->replicas[a] > counts->replicas[b])
            FAIL("expert " << a << " has more than " << b);
        }
      }
    }
  }
}

TEST_CASE("allocation: Eq. 1 is as printed") {
  for (std::uint64_t seed = 0; seed < testing::cases(kCases); ++seed) {
    INFO("seed " << seed);
    const AllocationCase made = random_case(seed);
    REQUIRE(replicas_of(Allocation::kEq1, made.loads, made.grid, made.min_replicas) ==
            eq1_as_printed(made.loads, made.grid, least_of(made)));
  }
}

TEST_CASE("allocation: EPLB gives every spare replica to the busiest") {
  for (std::uint64_t seed = 0; seed < testing::cases(kCases); ++seed) {
    INFO("seed " << seed);
    const AllocationCase made = random_case(seed);
    const Counts floor(made.loads.size(), least_of(made));
    REQUIRE(spare_went_to_busiest(
        made.loads, replicas_of(Allocation::kEplb, made.loads, made.grid, made.min_replicas), floor));
  }
}

TEST_CASE(
    "allocation: balanced is no lower than Eq. 1 where survival is decided, and the rest goes to the "
    "busiest" *
    doctest::test_suite("slow")) {
  for (std::uint64_t seed = 0; seed < testing::cases(kCases); ++seed) {
    INFO("seed " << seed);
    const AllocationCase made = random_case(seed);
    const Counts eq1 = replicas_of(Allocation::kEq1, made.loads, made.grid, made.min_replicas);
    const Counts balanced = replicas_of(Allocation::kBalanced, made.loads, made.grid, made.min_replicas);
    const auto by_eq1 = experts_by_replicas(eq1, made.loads);
    const auto by_balanced = experts_by_replicas(balanced, made.loads);
    Counts floor(eq1.size());
    const auto slots = static_cast<std::size_t>(made.grid.slots);
    for (std::size_t i = 0; i < by_eq1.size(); ++i) {
      const auto first = static_cast<std::size_t>(by_eq1[i - i % slots]);
      floor[static_cast<std::size_t>(by_eq1[i])] = eq1[first];
      if (i % slots == 0) REQUIRE(balanced[static_cast<std::size_t>(by_balanced[i])] >= eq1[first]);
    }
    for (std::size_t e = 0; e < floor.size(); ++e) REQUIRE(balanced[e] >= floor[e]);
    REQUIRE(spare_went_to_busiest(made.loads, balanced, floor));
  }
}

TEST_CASE("allocation: without tokens all experts get as many, one more or less") {
  for (const Allocation allocation : kAllocations) {
    for (std::int32_t nodes = 1; nodes <= 12; ++nodes) {
      const Counts replicas = replicas_of(allocation, Loads(7), {nodes, 7}, 2);
      CHECK(replicas == Counts(7, nodes));
      const Counts uneven = replicas_of(allocation, Loads(5), {nodes, 7}, 2);
      CHECK(std::ranges::max(uneven) - std::ranges::min(uneven) == (nodes * 7 % 5 == 0 ? 0 : 1));
    }
  }
}

TEST_CASE("allocation: the threshold is lowered to what all experts can have, and no further") {
  const auto counts = allocate_replicas(Allocation::kEq1, Loads{5, 1, 1, 1, 1}, {3, 4}, 3);
  REQUIRE(counts);
  CHECK(counts->min_replicas == 2);  // floor(12 / 5)
  CHECK(counts->replicas == Counts{4, 2, 2, 2, 2});
  CHECK(allocate_replicas(Allocation::kEq1, Loads{5, 1, 1, 1}, {3, 4}, 3)->min_replicas == 3);
}

TEST_CASE("allocation: 2^62 tokens of an expert are no overflow") {
  const std::int64_t huge = std::int64_t{1} << 62;
  for (const Allocation allocation : kAllocations) {
    // Half of 2^20 slots each; the last takes what the first loses to rounding.
    const Counts replicas = replicas_of(allocation, {huge, huge - 1}, {1 << 10, 1 << 10}, 2);
    CHECK(std::abs(replicas[0] - (1 << 19)) <= 1);
    CHECK(replicas[0] + replicas[1] == 1 << 20);
  }
}

TEST_CASE("allocation: experts are grouped by replicas, then load, then number") {
  const Counts replicas = {3, 2, 3, 2, 1};
  CHECK(experts_by_replicas(replicas, {}) == Counts{4, 1, 3, 0, 2});
  CHECK(experts_by_replicas(replicas, Loads{9, 8, 3, 5, 7}) == Counts{4, 3, 1, 2, 0});
}

TEST_CASE("allocation: what cannot be allocated is said") {
  CHECK(problem({}, {1, 1}, 1) == "there are no experts; give the load of at least one");
  CHECK(problem({1}, {0, 1}, 1) == "the number of nodes must be 1 or more, not 0");
  CHECK(problem({1}, {1, 0}, 1) == "slots per node must be 1 or more, not 0");
  CHECK(problem({1}, {-3, 1}, 1) == "the number of nodes must be 1 or more, not -3");
  CHECK(problem({1}, {1 << 20, 2}, 1) ==
        "1048576 nodes x 2 slots are 2097152 slots, but at most 1048576 are supported");
  CHECK(problem({1, 1, 1}, {2, 1}, 1) ==
        "3 experts do not fit on 2 nodes x 1 slots: not trainable on these nodes");
  CHECK(problem({1}, {1, 1}, 0) == "min replicas must be 1 or more, not 0");
  CHECK(problem({4, -2}, {1, 2}, 1) == "the load of expert 1 must be 0 or more, not -2");
  const std::int64_t huge = std::int64_t{1} << 62;
  CHECK(problem({huge, huge}, {1, 2}, 1) == "the loads add up to 2^63 or more");
  CHECK(problem({huge, huge - 1}, {1, 2}, 1).empty());
}

TEST_CASE("allocation: names are in the order of the enumerators") {
  const auto name_of = [](Allocation allocation) {
    return kAllocationNames[static_cast<std::size_t>(allocation)];
  };
  CHECK(std::size(kAllocationNames) == 3);
  CHECK(name_of(Allocation::kEq1) == "eq1");
  CHECK(name_of(Allocation::kEplb) == "eplb");
  CHECK(name_of(Allocation::kBalanced) == "balanced");
}

}  // namespace goodput
