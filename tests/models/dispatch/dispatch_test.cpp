#include "models/dispatch/dispatch.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>
#include <vector>

#include "sim/base/random.h"

namespace goodput::moe {
namespace {

constexpr Tokens kLargest = 2'147'483'647;  // 2^31 - 1, a prime

// Largest quotient of the continued fraction of a/b for a < b, textbook way.
Tokens largest_of_fraction(Tokens a, Tokens b) {
  return a == 0 ? 0 : std::max(b / a, largest_of_fraction(b % a, a));
}

Tokens count_one_by_one(const SurplusMap& map, Interval surplus, Interval residual) {
  Tokens count = 0;
  for (std::int64_t t = surplus.first; t < std::int64_t{surplus.first} + surplus.count; ++t) {
    const std::int64_t place = map.multiplier * t % map.size;
    if (place >= residual.first && place < std::int64_t{residual.first} + residual.count) ++count;
  }
  return count;
}

Tokens below(RandomStream& random, std::int64_t bound) {
  return static_cast<Tokens>(random.below(static_cast<std::uint64_t>(bound)));
}

Interval random_interval(RandomStream& random, Tokens size, Tokens longest) {
  const Tokens first = below(random, size);
  return {first, below(random, std::int64_t{std::min(longest, size - first)} + 1)};
}

// Of a random pair from what its share of the surplus and of the residual lets expect.
double deviation(const SurplusMap& map, RandomStream& random) {
  const Interval surplus = random_interval(random, map.size, map.size);
  const Interval residual = random_interval(random, map.size, map.size);
  const double exact = static_cast<double>(surplus.count) * residual.count / map.size;
  return std::abs(pair_count(map, surplus, residual) - exact);
}

}  // namespace

TEST_CASE("dispatch: every replica takes floor or ceil, and the odd tokens begin at the rotation") {
  // 17 tokens over 5 replicas: 3 each, 2 of them one more; from replica 4 on and around: replicas 4 and 0.
  const TokenQuota quota = {3, 2, 4, 5};
  CHECK(capacity(quota, 0, 1) == 4);
  CHECK(capacity(quota, 1, 1) == 3);
  CHECK(capacity(quota, 3, 1) == 3);
  CHECK(capacity(quota, 4, 1) == 4);
  CHECK(capacity(quota, 3, 2) == 7);  // a rank with the last two replicas
  CHECK(capacity(quota, 0, 5) == 17);
  CHECK(capacity(quota, 2, 0) == 0);
}

TEST_CASE("dispatch: the quota divides all tokens, whatever the numbers") {
  RandomStream random(1, "quota");
  for (int i = 0; i < 20'000; ++i) {
    const Tokens tokens = below(random, i % 2 == 0 ? 60 : std::int64_t{kLargest} + 1);
    const std::int32_t replicas = 1 + below(random, 40);
    const TokenQuota quota = token_quota(below(random, 1000), tokens, replicas);
    std::int64_t total = 0;
    for (std::int32_t replica = 0; replica < replicas; ++replica) {
      const Tokens one = capacity(quota, replica, 1);
      REQUIRE((one == tokens / replicas || one == tokens / replicas + 1));
      total += one;
      const std::int32_t before = below(random, replica + 1);
      REQUIRE(capacity(quota, before, replica - before) + one ==
              capacity(quota, before, replica - before + 1));
    }
    REQUIRE(total == tokens);
  }
}

TEST_CASE("dispatch: odd tokens of many experts spread over the replicas") {
  // 512 experts with 16 replicas each and one odd token: 32 a replica if spread evenly. Multiples of 1/phi,
  // cut into 16 intervals, leave each within 2 of that.
  std::vector<int> odd(16, 0);
  for (std::int32_t expert = 0; expert < 512; ++expert) {
    for (std::int32_t replica = 0; replica < 16; ++replica)
      odd[static_cast<std::size_t>(replica)] += capacity(token_quota(expert, 1, 16), replica, 1);
  }
  for (const int tokens : odd) CHECK(std::abs(tokens - 32) <= 2);
}

TEST_CASE("dispatch: tokens without a replica are a status, never dropped") {
  CHECK(expert_status(1, 0) == DispatchStatus::kExpertLost);
  CHECK(expert_status(0, 0) == DispatchStatus::kOk);
  CHECK(expert_status(1, 1) == DispatchStatus::kOk);
  CHECK(capacity(token_quota(3, 0, 0), 0, 0) == 0);
}

TEST_CASE("dispatch: numbers that could overflow are a status") {
  CHECK(expert_status(kMostTokens, kMostReplicas) == DispatchStatus::kOk);
  CHECK(expert_status(kMostTokens + 1, 1) == DispatchStatus::kTooManyTokens);
  CHECK(expert_status(1, kMostReplicas + 1) == DispatchStatus::kTooManyTokens);
  // multiplier * token < 2^62 for all that is allowed: both are below 2^31.
  CHECK(kMostTokens * kMostTokens < std::int64_t{1} << 62);
  const auto most = static_cast<std::int32_t>(kMostReplicas);
  CHECK(capacity(token_quota(7, kLargest, most), 0, most) == kLargest);
}

TEST_CASE("dispatch: what a rank cannot keep is surplus, what it could still take is residual") {
  const auto split = [](Tokens routed, Tokens takes) {
    const TokenSplit s = split_tokens(routed, takes);
    return std::vector<Tokens>{s.local, s.surplus, s.residual};
  };
  CHECK(split(7, 5) == std::vector<Tokens>{5, 2, 0});
  CHECK(split(5, 7) == std::vector<Tokens>{5, 0, 2});
  CHECK(split(0, 0) == std::vector<Tokens>{0, 0, 0});
}

TEST_CASE(
    "dispatch: the multiplier has no common divisor with S and the smallest largest quotient near S/phi") {
  RandomStream random(1, "multiplier");
  for (int i = 0; i < 3000; ++i) {
    const Tokens size = i < 2000 ? i + 1 : 1 + below(random, kLargest);
    const Tokens best = best_multiplier(size);
    REQUIRE(std::gcd(best, size) == 1);
    if (size == 1) continue;
    const Tokens nearest = multiplier_candidate(size, 0);
    // The window of the 64 candidates; 1/size is what remains where all others fail.
    for (std::int64_t g = std::int64_t{nearest} - 31; g <= std::int64_t{nearest} + 32; ++g) {
      if (g < 1 || g >= size || std::gcd(g, std::int64_t{size}) != 1) continue;
      REQUIRE_MESSAGE(largest_of_fraction(static_cast<Tokens>(g), size) >= largest_of_fraction(best, size),
                      fmt::format("size {}: {} against {}", size, g, best));
    }
    REQUIRE((best == 1 || std::abs(std::int64_t{best} - nearest) <= 32));
  }
}

TEST_CASE("dispatch: there are candidates for the number with most different primes") {
  // 2 * 3 * 5 * 7 * 11 * 13 * 17 * 19 * 23, and nine times it: still below 2^31.
  for (const Tokens size : {223'092'870, 9 * 223'092'870}) {
    const Tokens best = best_multiplier(size);
    CHECK(best > 1);
    CHECK(largest_quotient(best, size, size) < 20);
  }
}

TEST_CASE("dispatch: candidates take turns around S/phi") {
  // 1000 / phi = 618.03
  std::set<Tokens> candidates;
  for (int i = 0; i < kMultiplierCandidates; ++i) candidates.insert(multiplier_candidate(1000, i));
  CHECK(multiplier_candidate(1000, 0) == 618);
  CHECK(multiplier_candidate(1000, 1) == 619);
  CHECK(multiplier_candidate(1000, 2) == 617);
  CHECK(candidates.size() == 64);
  CHECK(*candidates.begin() == 587);
  CHECK(*candidates.rbegin() == 650);
}

TEST_CASE("dispatch: a pair's count is the number of tokens that go there, one by one") {
  RandomStream random(1, "pair");
  for (int i = 0; i < 60'000; ++i) {
    const Tokens size = 1 + below(random, i % 3 == 0 ? 8 : 300);
    const SurplusMap map =
        surplus_map(i % 4 == 0 ? DispatchPolicy::kPacked : DispatchPolicy::kProportional, size);
    const Interval surplus = random_interval(random, size, size);
    const Interval residual = random_interval(random, size, size);
    REQUIRE_MESSAGE(pair_count(map, surplus, residual) == count_one_by_one(map, surplus, residual),
                    fmt::format("case {}: size {} multiplier {}", i, size, map.multiplier));
  }
}

TEST_CASE("dispatch: counts stay right where numbers are largest") {
  RandomStream random(1, "large pair");
  for (const Tokens size : {kLargest, kLargest - 1, Tokens{1} << 30}) {
    const SurplusMap map = surplus_map(DispatchPolicy::kProportional, size);
    // The last tokens, whose product with the multiplier is largest, one by one.
    const Interval last = {size - 1000, 1000};
    for (int i = 0; i < 200; ++i) {
      const Interval residual = random_interval(random, size, size);
      REQUIRE(pair_count(map, last, residual) == count_one_by_one(map, last, residual));
    }
    // All tokens: every place gets one.
    const Tokens cut = below(random, size);
    CHECK(pair_count(map, {0, size}, {0, cut}) == cut);
    CHECK(pair_count(map, {0, size}, {cut, size - cut}) == size - cut);
    CHECK(pair_count(map, {0, cut}, {0, size}) == cut);
  }
}

TEST_CASE("dispatch: a proportional count is within 16 tokens of the exact proportion") {
  RandomStream random(1, "proportion");
  double worst = 0;
  for (int i = 0; i < 60'000; ++i) {
    const Tokens size = 1 + below(random, std::int64_t{1} << (4 + i % 27));
    worst = std::max(worst, deviation(surplus_map(DispatchPolicy::kProportional, size), random));
  }
  CHECK_MESSAGE(worst <= 16, fmt::format("{} tokens", worst));
}

TEST_CASE("dispatch: the coprime number nearest to S/phi alone can be far off the proportion") {
  // 69810 / phi = 43144.95; 43141 is the nearest without a common divisor, and 43141/69810 has a quotient of
  // 784: 784 / 4 = 196 tokens off. 43151, six further on, has none above 4.
  const Tokens size = 69'810;
  CHECK(largest_of_fraction(43'141, size) == 784);
  CHECK(best_multiplier(size) == 43'151);
  RandomStream random(1, "nearest");
  double nearest = 0;
  double best = 0;
  for (int i = 0; i < 3000; ++i) {
    nearest = std::max(nearest, deviation({size, 43'141}, random));
    best = std::max(best, deviation({size, 43'151}, random));
  }
  CHECK_MESSAGE(nearest > 100, fmt::format("{} tokens", nearest));
  CHECK_MESSAGE(best < 5, fmt::format("{} tokens", best));
}

TEST_CASE("dispatch: the host of a place is the one whose interval holds it, also among empty ones") {
  // Places 0..2 at host 1, 3 at host 4, 4..5 at host 5; hosts 0, 2, 3 and 6 have no residual.
  const Interval residuals[] = {{0, 0}, {0, 3}, {3, 0}, {3, 0}, {3, 1}, {4, 2}, {6, 0}};
  const int expected[] = {1, 1, 1, 4, 5, 5};
  for (Tokens place = 0; place < 6; ++place) CHECK(host_of_place(residuals, 7, place) == expected[place]);
}

TEST_CASE("dispatch: tokens for a host are numbered in their order") {
  RandomStream random(1, "place");
  for (int i = 0; i < 500; ++i) {
    std::vector<Interval> residuals;
    Tokens size = 0;
    for (std::int32_t hosts = 1 + below(random, 9); hosts > 0; --hosts) {
      residuals.push_back({size, below(random, 30)});
      size += residuals.back().count;
    }
    if (size == 0) continue;
    const SurplusMap map =
        surplus_map(i % 2 == 0 ? DispatchPolicy::kPacked : DispatchPolicy::kProportional, size);
    const Interval surplus = random_interval(random, size, size);
    std::vector<Tokens> seen(residuals.size(), 0);
    for (Tokens token = surplus.first; token < surplus.first + surplus.count; ++token) {
      const auto host = static_cast<std::size_t>(host_of_place(
          residuals.data(), static_cast<std::int32_t>(residuals.size()), residual_place(map, token)));
      const Interval earlier{surplus.first, token - surplus.first};
      REQUIRE(pair_count(map, earlier, residuals[host]) == seen[host]++);
    }
    for (std::size_t host = 0; host < residuals.size(); ++host)
      REQUIRE(seen[host] == pair_count(map, surplus, residuals[host]));
  }
}

}  // namespace goodput::moe
