#include "sim/nodes/price_schedule.h"

#include <doctest/doctest.h>

#include "sim/base/errors.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using Prices = std::vector<SpotPrice>;

SimTime at(SimDuration time) {
  return SimTime{time};
}

// 1 USD for an hour, 3 for the next two, then nothing.
PriceSchedule steps_of_price() {
  return PriceSchedule(Prices{{at(hours{0}), 1}, {at(hours{1}), 3}, {at(hours{3}), 0}});
}

}  // namespace

TEST_CASE("price schedule: without prices nodes are free") {
  const PriceSchedule prices;
  CHECK(prices.is_free());
  CHECK(prices.cost(at(hours{1}), at(hours{1000})) == 0);
  CHECK(PriceSchedule(Prices{}).is_free());
}

TEST_CASE("price schedule: one price is paid by the hour, or part of it") {
  const PriceSchedule prices(2.5);
  CHECK_FALSE(prices.is_free());
  CHECK(prices.cost(at(hours{3}), at(hours{5})) == 5);
  CHECK(prices.cost(at(minutes{0}), at(minutes{6})) == doctest::Approx(0.25).epsilon(1e-15));
  CHECK(prices.cost(at(hours{3}), at(hours{3})) == 0);
}

TEST_CASE("price schedule: a stretch that sees the price change pays each for its time") {
  const PriceSchedule prices = steps_of_price();
  CHECK(prices.cost(at(hours{0}), at(hours{1})) == 1);
  CHECK(prices.cost(at(minutes{30}), at(minutes{90})) == 0.5 + 1.5);
  CHECK(prices.cost(at(minutes{30}), at(hours{10})) == 0.5 + 6);
  CHECK(prices.cost(at(hours{1}), at(hours{3})) == 6);
  CHECK(prices.cost(at(hours{4}), at(hours{100})) == 0);
}

TEST_CASE("price schedule: the first price holds from the start") {
  const PriceSchedule prices(Prices{{at(hours{2}), 1}, {at(hours{4}), 2}});
  CHECK(prices.cost(at(hours{0}), at(hours{5})) == 4 + 2);
}

TEST_CASE("price schedule: however time is cut up, the parts add up to the whole") {
  const PriceSchedule prices = steps_of_price();
  RandomStream random(1, "cuts");
  double sum = 0;
  SimTime now{};
  while (now < at(hours{5})) {
    const SimTime next = now + minutes{1 + random.below(40)};
    sum += prices.cost(now, next);
    now = next;
  }
  CHECK(sum == doctest::Approx(prices.cost(SimTime{}, now)).epsilon(1e-12));
}

TEST_CASE("price schedule: prices out of order and below zero are refused") {
  CHECK_THROWS_AS(PriceSchedule(Prices{{at(hours{0}), 1}, {at(hours{0}), 2}}), InternalError);
  CHECK_THROWS_AS(PriceSchedule(Prices{{at(hours{0}), 1}, {at(hours{2}), 2}, {at(hours{1}), 2}}),
                  InternalError);
  CHECK_THROWS_AS(PriceSchedule(-1.0), InternalError);
}

}  // namespace goodput
