#include "models/dispatch/euclid_chain.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/base/random.h"

namespace goodput::moe {
namespace {

constexpr std::int64_t kSizes = std::int64_t{1} << 31;  // sizes are below that

std::vector<EuclidLevel> chain_of(const SurplusMap& map) {
  std::vector<EuclidLevel> chain;
  for (EuclidCursor cursor(map);; cursor.advance()) {
    chain.push_back(cursor.level());
    if (cursor.is_last()) return chain;
  }
}

// Of all magnitudes alike: uniform below 2^bits for a random number of bits.
Tokens of_some_size(RandomStream& random, std::int64_t bound) {
  const auto most = static_cast<std::uint64_t>(bound);
  return static_cast<Tokens>(random.below(std::min(most, std::uint64_t{1} << random.below(32))));
}

void check_division(std::uint64_t n, std::uint32_t m) {
  const Division division = divide(n, m, reciprocal_of(m));
  REQUIRE_MESSAGE((division.quotient == n / m && division.remainder == n % m), fmt::format("{} / {}", n, m));
}

void check_short_division(std::uint32_t n, std::uint32_t m) {
  const Division division = divide(n, m, reciprocal_of(m));
  REQUIRE_MESSAGE((division.quotient == n / m && division.remainder == n % m), fmt::format("{} / {}", n, m));
}

}  // namespace

TEST_CASE("euclid chain: a division by a reciprocal is the division") {
  RandomStream random(1, "division");
  for (int i = 0; i < 100'000; ++i) {
    const auto m = static_cast<std::uint32_t>(1 + of_some_size(random, kSizes - 1));
    // A multiple of m, what is just below it, and what is anywhere above it.
    const std::uint64_t most = (std::uint64_t{1} << 62U) / m;
    const std::uint64_t multiple = random.below(std::min(most, std::uint64_t{1} << 32U)) * m;
    check_division(multiple, m);
    if (multiple != 0) check_division(multiple - 1, m);
    check_division(multiple + random.below(m), m);
    check_short_division(static_cast<std::uint32_t>(multiple), m);
    check_short_division(static_cast<std::uint32_t>(~multiple), m);
  }
  for (unsigned bit = 0; bit < 31; ++bit) {
    for (const std::uint32_t m : {1U << bit, (1U << bit) + 1U, 0x7fffffffU >> bit}) {
      check_division((std::uint64_t{m} << 31U) - 1, m);
      check_short_division(0xffffffffU, m);
      check_short_division(m - 1, m);
      check_short_division(m, m);
    }
  }
}

TEST_CASE("euclid chain: consecutive Fibonacci numbers have most levels, and there is room for them") {
  Tokens lower = 1;
  Tokens upper = 2;
  while (std::int64_t{lower} + upper < kSizes) {
    const Tokens sum = lower + upper;
    lower = upper;
    upper = sum;
  }
  CHECK(upper == 1'836'311'903);  // F(46); F(47) is beyond 2^31
  // F(46)/F(45) .. F(3)/F(2) are 44 divisions (Lame), and the first level divides nothing.
  CHECK(chain_of({upper, lower}).size() == 1 + 44);
  CHECK(kMostEuclidLevels == 45);
  RandomStream random(2, "levels");
  for (int i = 0; i < 20'000; ++i) {
    const auto size = static_cast<Tokens>(2 + random.below(static_cast<std::uint64_t>(kSizes - 2)));
    const Tokens multiplier =
        i % 2 == 0
            ? best_multiplier(size)
            : 1 + static_cast<Tokens>(random.below(static_cast<std::uint64_t>(std::int64_t{size} - 1)));
    REQUIRE(chain_of({size, multiplier}).size() <= kMostEuclidLevels);
  }
}

TEST_CASE("euclid chain: counts of pairs and places are those of the divisions") {
  RandomStream random(3, "pairs");
  for (int i = 0; i < 100'000; ++i) {
    const Tokens size = 2 + of_some_size(random, kSizes - 2);
    // Any multiplier, with common divisors and with large quotients too.
    const Tokens multiplier = i % 3 == 0 ? best_multiplier(size) : 1 + of_some_size(random, size - 1);
    const SurplusMap map{size, multiplier};
    const std::vector<EuclidLevel> chain = chain_of(map);
    const auto interval = [&] {
      const Tokens first = of_some_size(random, size);
      return Interval{first, of_some_size(random, std::int64_t{size} - first + 1)};
    };
    const Interval surplus = interval();
    const Interval residual = interval();
    REQUIRE_MESSAGE(pair_count(map, chain.data(), surplus, residual) == pair_count(map, surplus, residual),
                    fmt::format("pair {}: {} * t mod {}, [{}, +{}) into [{}, +{})", i, multiplier, size,
                                surplus.first, surplus.count, residual.first, residual.count));
    REQUIRE(residual_place(map, chain[0].reciprocal(), surplus.first) == residual_place(map, surplus.first));
  }
}

TEST_CASE("euclid chain: what is all of one side goes wherever the other is") {
  const SurplusMap map{2'147'483'647, best_multiplier(2'147'483'647)};
  const std::vector<EuclidLevel> chain = chain_of(map);
  for (const Tokens part : {1, 2, 1000, 1'000'000'007, 2'147'483'646}) {
    CHECK(pair_count(map, chain.data(), {0, map.size}, {0, part}) == part);
    CHECK(pair_count(map, chain.data(), {0, part}, {0, map.size}) == part);
    CHECK(pair_count(map, chain.data(), {part, map.size - part}, {0, map.size}) == map.size - part);
  }
  CHECK(pair_count(map, chain.data(), {0, 0}, {0, 5}) == 0);
  CHECK(pair_count(map, chain.data(), {0, 5}, {7, 0}) == 0);
  CHECK(pair_count({10, 1}, nullptr, {2, 5}, {4, 6}) == 3);
}

}  // namespace goodput::moe
