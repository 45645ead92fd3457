#include "sim/routing/routing_trace.h"

#include <doctest/doctest.h>

#include <limits>

#include "sim/base/errors.h"

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

}  // namespace
}  // namespace goodput
