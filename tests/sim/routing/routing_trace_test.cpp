#include "sim/routing/routing_trace.h"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>

#include "sim/base/errors.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

using Loads = std::vector<std::int64_t>;

// Iterations 1, 11, 21; layers 2 and 5; three experts. The first load of a row is 100 * iteration + layer.
RoutingTrace small_trace() {
  return RoutingTrace({1, 11, 21}, {2, 5}, 3,
                      {102, 1, 2, 105, 3, 4, 1102, 5, 6, 1105, 7, 8, 2102, 9, 10, 2105, 11, 12});
}

Loads row(const RoutingTrace& trace, std::size_t iteration, std::size_t layer) {
  const auto loads = trace.loads(iteration, layer);
  return {loads.begin(), loads.end()};
}

TEST_CASE("routing trace: rows are found by the positions of iteration and layer") {
  const RoutingTrace trace = small_trace();
  CHECK(row(trace, 0, 0) == Loads{102, 1, 2});
  CHECK(row(trace, 2, 1) == Loads{2105, 11, 12});
  CHECK(trace.total(2, 1) == 2128);
}

TEST_CASE("routing trace: a step has the latest row at or before it") {
  const RoutingTrace trace = small_trace();
  CHECK(trace.index_at(11) == 1);
  CHECK(trace.index_at(20) == 1);
  CHECK(trace.index_at(21) == 2);
}

TEST_CASE("routing trace: the last row holds for ever, the first one before the recording") {
  const RoutingTrace trace = small_trace();
  CHECK(trace.index_at(1'000'000) == 2);
  CHECK(trace.index_at(0) == 0);
  CHECK(trace.index_at(std::numeric_limits<std::int64_t>::min()) == 0);
}

TEST_CASE("routing trace: exact numbers are found, others are not") {
  const RoutingTrace trace = small_trace();
  CHECK(trace.find_layer(5) == 1);
  CHECK(trace.find_layer(3) == std::nullopt);
  CHECK(trace.find_iteration(11) == 1);
  CHECK(trace.find_iteration(12) == std::nullopt);
}

TEST_CASE("routing trace: what breaks its invariants is our bug") {
  CHECK_THROWS_AS(RoutingTrace({2, 1}, {0}, 1, {1, 1}), InternalError);
  CHECK_THROWS_AS(RoutingTrace({1}, {0, 0}, 1, {1, 1}), InternalError);
  CHECK_THROWS_AS(RoutingTrace({1}, {0}, 2, {1}), InternalError);
  CHECK_THROWS_AS(RoutingTrace({1}, {0}, 1, {-1}), InternalError);
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(RoutingTrace({1}, {0}, 2, {kMost, 1}), InternalError);
  CHECK_NOTHROW(RoutingTrace({1}, {0}, 2, {kMost, 0}));
}

TEST_CASE("scaled loads: what the floors leave goes to the largest remainders") {
  // 10 tokens over 5 : 3 : 1 (of 9) are 5.56, 3.33, 1.11: floors 5, 3, 1, and one more for the first.
  CHECK(scale_loads(Loads{5, 3, 1}, 10) == Loads{6, 3, 1});
}

TEST_CASE("scaled loads: of equal remainders the lower expert is first") {
  // 5 tokens over four equal loads are 1.25 each.
  CHECK(scale_loads(Loads{7, 7, 7, 7}, 5) == Loads{2, 1, 1, 1});
  CHECK(scale_loads(Loads{7, 7, 7, 7}, 7) == Loads{2, 2, 2, 1});
}

TEST_CASE("scaled loads: an expert without load gets none, and no load at all is shared evenly") {
  CHECK(scale_loads(Loads{0, 1, 0}, 9) == Loads{0, 9, 0});
  CHECK(scale_loads(Loads{0, 0, 0}, 7) == Loads{3, 2, 2});
  CHECK(scale_loads(Loads{3, 4}, 0) == Loads{0, 0});
}

TEST_CASE("scaled loads: products beyond 64 bits are exact") {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();  // odd: 2 k + 1
  CHECK(scale_loads(Loads{kMost / 2, kMost / 2}, kMost) == Loads{kMost / 2 + 1, kMost / 2});
}

TEST_CASE("scaled loads: sums are exact and no entry is off by one or more") {
  RandomStream random(1, "scaled loads");
  for (int round = 0; round < 200; ++round) {
    Loads loads(1 + random.below(40));
    for (std::int64_t& load : loads) load = static_cast<std::int64_t>(random.below(100'000));
    const std::int64_t sum = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
    const auto total = static_cast<std::int64_t>(random.below(1'000'000));
    const Loads scaled = scale_loads(loads, total);
    REQUIRE(std::accumulate(scaled.begin(), scaled.end(), std::int64_t{0}) == total);
    for (std::size_t e = 0; sum > 0 && e < loads.size(); ++e) {
      const std::int64_t error = scaled[e] * sum - loads[e] * total;  // of sum's parts
      REQUIRE(error > -sum);
      REQUIRE(error < sum);
    }
  }
}

}  // namespace
}  // namespace goodput
