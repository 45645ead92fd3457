#include "sim/routing/routing_statistics.h"

#include <doctest/doctest.h>

#include <cmath>

#include "sim/base/errors.h"

namespace goodput {
namespace {

using Loads = std::vector<std::int64_t>;

TEST_CASE("routing skew: of an even load nothing is padded") {
  const RoutingSkew skew = skew_of(Loads{5, 5, 5, 5});
  CHECK(skew.padding_factor == 1);
  CHECK(skew.variation == 0);
  CHECK(skew.zipf_exponent == doctest::Approx(0).epsilon(1e-9));
  CHECK(skew.hottest_share == 0.25);
  CHECK(skew.hottest == 0);
  CHECK(skew.entropy == doctest::Approx(1));
  CHECK(skew.idle_experts == 0);
}

TEST_CASE("routing skew: by hand") {
  // Mean 4: max/mean 10/4. Deviations 6, 0, -2, -4: variance (36 + 0 + 4 + 16) / 4 = 14.
  const RoutingSkew skew = skew_of(Loads{4, 0, 10, 2});
  CHECK(skew.padding_factor == doctest::Approx(2.5));
  CHECK(skew.variation == doctest::Approx(std::sqrt(14.0) / 4));
  CHECK(skew.hottest == 2);
  CHECK(skew.hottest_share == doctest::Approx(10.0 / 16));
  CHECK(skew.idle_experts == 1);
  // Shares 5/8, 1/4, 1/8 in units of ln 2: 5/8 * (3 - log2 5) + 2/4 + 3/8, over log2 4.
  CHECK(skew.entropy == doctest::Approx((0.625 * (3 - std::log2(5.0)) + 0.5 + 0.375) / 2));
}

TEST_CASE("routing skew: the exponent of loads that follow Zipf's law is found") {
  for (const double exponent : {0.5, 1.0, 2.0}) {
    Loads loads;
    for (int rank = 64; rank >= 1; --rank) loads.push_back(std::llround(1e12 * std::pow(rank, -exponent)));
    CHECK(skew_of(loads).zipf_exponent == doctest::Approx(exponent).epsilon(1e-6));
  }
}

TEST_CASE("routing skew: a single expert that gets everything ends the scale") {
  const RoutingSkew skew = skew_of(Loads{0, 9, 0});
  CHECK(skew.padding_factor == 3);
  CHECK(skew.zipf_exponent == 16);
  CHECK(skew.entropy == 0);
}

TEST_CASE("routing skew: no tokens and a single expert count as even") {
  const RoutingSkew none = skew_of(Loads{0, 0});
  CHECK(none.padding_factor == 1);
  CHECK(none.hottest_share == 0.5);
  CHECK(none.idle_experts == 2);
  const RoutingSkew single = skew_of(Loads{7});
  CHECK(single.padding_factor == 1);
  CHECK(single.zipf_exponent == 0);
  CHECK(single.entropy == 1);
  CHECK_THROWS_AS(static_cast<void>(skew_of(Loads{})), InternalError);
}

TEST_CASE("busiest experts: of equal loads the lower expert is first") {
  CHECK(busiest_experts(Loads{3, 9, 1, 9, 3}, 3) == std::vector<std::int32_t>{1, 3, 0});
  CHECK(busiest_experts(Loads{3, 9}, 0).empty());
}

TEST_CASE("padding factor of the busiest: over their own mean") {
  // 10, 4, 2 of 10, 4, 2, 0: 10 / (16 / 3).
  CHECK(padding_factor_of_busiest(Loads{4, 0, 10, 2}, 3) == doctest::Approx(10.0 * 3 / 16));
  CHECK(padding_factor_of_busiest(Loads{4, 0, 10, 2}, 1) == 1);
  CHECK(padding_factor_of_busiest(Loads{0, 0}, 2) == 1);
}

TEST_CASE("routing distance: the share of tokens that go elsewhere") {
  CHECK(routing_distance(Loads{5, 5}, Loads{1, 1}) == 0);  // half each, whatever the total
  CHECK(routing_distance(Loads{1, 0}, Loads{0, 8}) == 1);
  CHECK(routing_distance(Loads{1, 1, 2}, Loads{2, 1, 1}) == doctest::Approx(0.25));
  CHECK(routing_distance(Loads{0, 0}, Loads{3, 1}) == doctest::Approx(0.25));  // nothing counts as even
}

TEST_CASE("routing drift: mean distances and changes of the hottest expert") {
  // Shares of expert 0: 1, 0.75, 0.25, 0.5 (a tie, which expert 0 wins).
  const RoutingTrace trace({1, 2, 3, 4}, {0}, 2, {4, 0, 3, 1, 1, 3, 2, 2});
  CHECK(mean_routing_distance(trace, 0, 0) == 0);
  CHECK(mean_routing_distance(trace, 0, 1) == doctest::Approx((0.25 + 0.5 + 0.25) / 3));
  CHECK(mean_routing_distance(trace, 0, 3) == doctest::Approx(0.5));
  CHECK(hottest_change_rate(trace, 0) == doctest::Approx(2.0 / 3));
  CHECK_THROWS_AS(static_cast<void>(mean_routing_distance(trace, 0, 4)), InternalError);
}

}  // namespace
}  // namespace goodput
