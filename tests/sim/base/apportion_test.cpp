#include "sim/base/apportion.h"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>

#include "sim/base/errors.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

using Loads = std::vector<std::int64_t>;

TEST_CASE("apportion: what the floors leave goes to the largest remainders") {
  // 10 tokens over 5 : 3 : 1 (of 9) are 5.56, 3.33, 1.11: floors 5, 3, 1, and one more for the first.
  CHECK(apportion(Loads{5, 3, 1}, 10) == Loads{6, 3, 1});
}

TEST_CASE("apportion: of equal remainders the lower expert is first") {
  // 5 tokens over four equal loads are 1.25 each.
  CHECK(apportion(Loads{7, 7, 7, 7}, 5) == Loads{2, 1, 1, 1});
  CHECK(apportion(Loads{7, 7, 7, 7}, 7) == Loads{2, 2, 2, 1});
}

TEST_CASE("apportion: an expert without load gets none, and no load at all is shared evenly") {
  CHECK(apportion(Loads{0, 1, 0}, 9) == Loads{0, 9, 0});
  CHECK(apportion(Loads{0, 0, 0}, 7) == Loads{3, 2, 2});
  CHECK(apportion(Loads{3, 4}, 0) == Loads{0, 0});
}

TEST_CASE("apportion: products beyond 64 bits are exact") {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();  // odd: 2 k + 1
  CHECK(apportion(Loads{kMost / 2, kMost / 2}, kMost) == Loads{kMost / 2 + 1, kMost / 2});
}

TEST_CASE("apportion: sums are exact and no entry is off by one or more") {
  RandomStream random(1, "apportion");
  for (int round = 0; round < 200; ++round) {
    Loads loads(1 + random.below(40));
    for (std::int64_t& load : loads) load = static_cast<std::int64_t>(random.below(100'000));
    const std::int64_t sum = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
    const auto total = static_cast<std::int64_t>(random.below(1'000'000));
    const Loads scaled = apportion(loads, total);
    REQUIRE(std::accumulate(scaled.begin(), scaled.end(), std::int64_t{0}) == total);
    for (std::size_t e = 0; sum > 0 && e < loads.size(); ++e) {
      const std::int64_t error = scaled[e] * sum - loads[e] * total;  // of sum's parts
      REQUIRE(error > -sum);
      REQUIRE(error < sum);
    }
  }
}

TEST_CASE("apportion: weights that are negative or overflow, and nobody to get anything, are refused") {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(static_cast<void>(apportion(Loads{-1, 2}, 3)), InternalError);
  CHECK_THROWS_AS(static_cast<void>(apportion(Loads{kMost, 1}, 3)), InternalError);
  CHECK_THROWS_AS(static_cast<void>(apportion(Loads{}, 3)), InternalError);
  CHECK_THROWS_AS(static_cast<void>(apportion(Loads{1}, -1)), InternalError);
}

}  // namespace
}  // namespace goodput
