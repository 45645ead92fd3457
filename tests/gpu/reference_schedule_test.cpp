#include "gpu/reference_schedule.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>
#include <utility>

#include "tests/gpu/reference_cases.h"
#include "tests/gpu/reference_properties.h"
#include "tests/support/routed_cluster.h"

namespace goodput::gpu::reference {
namespace {

using goodput::testing::Cluster;
using goodput::testing::GridPoint;
using goodput::testing::kDispatchPolicies;
using goodput::testing::kTroubles;
using goodput::testing::Trouble;
using moe::DispatchPolicy;
using moe::DispatchStatus;
using moe::Tokens;

// Points with more slots than this, all ranks together, are for the release build.
constexpr std::int64_t kSmallPoint = 20'000;

// All ranks of a small cluster; of a large one the first, the last and some between.
std::vector<std::int32_t> ranks_to_lay_out(std::int32_t ranks, RandomStream& random) {
  std::vector<std::int32_t> chosen;
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    if (ranks <= 64 || rank == 0 || rank == ranks - 1 || random.below(200) == 0) chosen.push_back(rank);
  return chosen;
}

std::string wrong_ranks(const Cluster& cluster, const Schedule& schedule, RandomStream& random) {
  std::vector<RankLayout> layouts;
  for (const std::int32_t me : ranks_to_lay_out(schedule.ranks, random)) {
    layouts.push_back(make_layout(cluster.placement, schedule, me));
    std::string wrong = wrong_layout(cluster, schedule, layouts.back(), me);
    if (wrong.empty()) wrong = wrong_positions(cluster, schedule, layouts.back(), me);
    if (!wrong.empty()) return fmt::format("rank {}: {}", me, wrong);
  }
  const bool all = layouts.size() == static_cast<std::size_t>(schedule.ranks);
  return all && !ends_agree(layouts) ? "sender and receiver disagree" : "";
}

std::string wrong_cluster(const Cluster& cluster, DispatchPolicy policy, RandomStream& random) {
  const Schedule schedule = make_schedule(cluster.placement, cluster.counts, policy);
  std::string wrong = wrong_schedule(cluster, schedule, policy);
  // An enumeration is ranks x ranks numbers: of a large cluster about two experts.
  for (std::int32_t expert = 0; expert < schedule.experts && wrong.empty(); ++expert)
    if (schedule.ranks <= 64 || random.below(static_cast<std::uint64_t>(schedule.experts)) < 2)
      wrong = wrong_messages(cluster, schedule, expert);
  return wrong.empty() ? wrong_ranks(cluster, schedule, random) : wrong;
}

void check_point(const GridPoint& point) {
  for (const Trouble trouble : kTroubles) {
    RandomStream random(static_cast<std::uint64_t>(trouble), "reference grid");
    const Cluster cluster = make_cluster(point, trouble, random);
    for (const DispatchPolicy policy : kDispatchPolicies) {
      const std::string wrong = wrong_cluster(cluster, policy, random);
      REQUIRE_MESSAGE(wrong.empty(),
                      fmt::format("{} ranks, {} experts, {} tokens, top-{}, trouble {}, policy {}: {}",
                                  point.ranks, point.experts, point.tokens, point.top_k,
                                  static_cast<int>(trouble), static_cast<int>(policy), wrong));
    }
  }
}

using Pairs = std::set<std::pair<std::int32_t, std::int32_t>>;

// How many pairs of values two of the grid's columns have.
std::size_t pairs(const std::vector<GridPoint>& grid, std::int32_t GridPoint::*a,
                  std::int32_t GridPoint::*b) {
  Pairs found;
  for (const GridPoint& point : grid) found.insert({point.*a, point.*b});
  return found.size();
}

}  // namespace

TEST_CASE("gpu reference: the grid has every pair of sizes") {
  // 7 numbers of ranks, 4 of experts, 7 of tokens, 3 of top-k. 1000 and 1024 ranks have no 65536 tokens.
  const std::vector<GridPoint> grid = goodput::testing::pairwise_grid();
  CHECK(pairs(grid, &GridPoint::ranks, &GridPoint::tokens) == 7 * 7 - 2);
  CHECK(pairs(grid, &GridPoint::ranks, &GridPoint::experts) == 7 * 4);
  CHECK(pairs(grid, &GridPoint::ranks, &GridPoint::top_k) == 7 * 3);
  CHECK(pairs(grid, &GridPoint::tokens, &GridPoint::experts) == 7 * 4);
  CHECK(pairs(grid, &GridPoint::tokens, &GridPoint::top_k) == 7 * 3);
  CHECK(pairs(grid, &GridPoint::experts, &GridPoint::top_k) == 4 * 3);
  CHECK(grid.size() == 47);
}

TEST_CASE("gpu reference: schedules and positions are exact on the small points of the grid" *
          doctest::test_suite("slow")) {
  int points = 0;
  for (const GridPoint& point : goodput::testing::pairwise_grid()) {
    if (point.slots() > kSmallPoint) continue;
    check_point(point);
    ++points;
  }
  CHECK(points >= 20);
}

TEST_CASE("gpu reference: schedules and positions are exact on the large points of the grid" *
          doctest::test_suite("release-only")) {
  for (const GridPoint& point : goodput::testing::pairwise_grid())
    if (point.slots() > kSmallPoint) check_point(point);
}

TEST_CASE("gpu reference: random small clusters are dispatched exactly") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    RandomStream random(seed, "reference cluster");
    const auto up_to = [&random](std::uint64_t most) {
      return 1 + static_cast<std::int32_t>(random.below(most));
    };
    const GridPoint point = {up_to(9), up_to(12), up_to(40) - 1, up_to(4)};
    const Cluster cluster = make_cluster(point, kTroubles[seed % 3], random);
    const DispatchPolicy policy = kDispatchPolicies[seed / 3 % 2];
    const std::string wrong = wrong_cluster(cluster, policy, random);
    REQUIRE_MESSAGE(wrong.empty(), fmt::format("seed {}: {}", seed, wrong));
  }
}

TEST_CASE("gpu reference: the schedule of a cluster by hand") {
  // Expert 0 on ranks 0 and 1, tokens 7 2 0: 9 over 2 replicas, rotation 0, so rank 0 takes 5 and rank 1 4.
  // Rank 0 keeps 5 of its 7, rank 1 its 2; rank 0's surplus of 2 goes to rank 1's residual of 2.
  // Expert 1 twice on rank 2, tokens 0 1 3: all 4 to it.
  const Placement placement = {3, 2, {1, 0, 1, 0, 0, 2}};
  for (const DispatchPolicy policy : kDispatchPolicies) {
    const Schedule schedule = make_schedule(placement, {7, 0, 2, 1, 0, 3}, policy);
    CHECK(schedule.status == std::vector<DispatchStatus>{DispatchStatus::kOk, DispatchStatus::kOk});
    CHECK(schedule.capacity == std::vector<Tokens>{5, 0, 4, 0, 0, 4});
    CHECK(schedule.local == std::vector<Tokens>{5, 0, 2, 0, 0, 3});
    CHECK(schedule.maps[0].size == 2);
    CHECK(schedule.maps[1].size == 1);
    CHECK(message(schedule, 0, 0, 0) == 5);
    CHECK(message(schedule, 0, 1, 0) == 2);
    CHECK(message(schedule, 1, 1, 0) == 2);
    CHECK(message(schedule, 1, 0, 0) == 0);
    CHECK(message(schedule, 1, 2, 1) == 1);
    CHECK(message(schedule, 2, 2, 1) == 3);
  }
}

TEST_CASE("gpu reference: an expert without hosts or with too many tokens is named, and gets nothing") {
  // Expert 0 has no host, but no tokens either; expert 1 has tokens and no host; expert 2 has 2^31 tokens.
  const Placement placement = {2, 3, {0, 0, 1, 0, 0, 1}};
  const Tokens half = 1 << 30;
  const Schedule schedule = make_schedule(placement, {0, 3, half, 0, 0, half}, DispatchPolicy::kProportional);
  CHECK(schedule.status == std::vector<DispatchStatus>{DispatchStatus::kOk, DispatchStatus::kExpertLost,
                                                       DispatchStatus::kTooManyTokens});
  CHECK(schedule.capacity == std::vector<Tokens>(6, 0));
  CHECK(schedule.local == std::vector<Tokens>(6, 0));
  CHECK(schedule.maps[1].size == 0);
  CHECK(schedule.maps[2].size == 0);
  CHECK(message(schedule, 0, 0, 2) == 0);
  CHECK(message(schedule, 0, 1, 2) == 0);
  // One token fewer fits: 2^31 - 1 over 2 replicas, of which one takes the odd token.
  const Schedule fits = make_schedule(placement, {0, 0, half, 0, 0, half - 1}, DispatchPolicy::kProportional);
  CHECK(fits.status[2] == DispatchStatus::kOk);
  CHECK(fits.capacity[2] + std::int64_t{fits.capacity[5]} == moe::kMostTokens);
}

TEST_CASE("gpu reference: slots without an expert are not counted") {
  CHECK(count_slots({2, -1, 0, 2, -7, 3}, 3) == std::vector<Tokens>{1, 0, 2});
  CHECK(count_slots({}, 2) == std::vector<Tokens>{0, 0});
}

TEST_CASE("gpu reference: enumerated messages of an expert by hand") {
  // Tokens 6 0 1 of expert 0, a replica on rank 1 and two on rank 2: 7 over 3, the odd token to the replica
  // at the rotation, 0: rank 1 takes 3, rank 2 4 and keeps its 1. Surplus tokens 0-5 are rank 0's, places 0-2
  // rank 1's, 3-5 rank 2's.
  const Placement placement = {3, 1, {0, 1, 2}};
  CHECK(enumerate_messages(placement, {6, 0, 1}, 0, 1) == std::vector<Tokens>{0, 3, 3, 0, 0, 0, 0, 0, 1});
  // Tokens 4 2 1: rank 1 keeps 2 and has place 0, rank 2 keeps 1 and has places 1-3; every multiplier without
  // a common divisor with 4 sends rank 0's four there.
  CHECK(enumerate_messages(placement, {4, 2, 1}, 0, 3) == std::vector<Tokens>{0, 1, 3, 0, 2, 0, 0, 0, 1});
}

}  // namespace goodput::gpu::reference
