// What nodes cost: sums by hand, and a slow reference that bills every second of every node.
#include "sim/nodes/node_bill.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "sim/base/random.h"

namespace goodput {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

SimTime moment(SimDuration time) {
  return SimTime{time};
}

double hours_of(NodeTime time) {
  return node_seconds(time) / 3600;
}

// 1 USD an hour, from the second hour on 3.
PriceSchedule rising_price() {
  return PriceSchedule(std::vector<SpotPrice>{{moment(hours{0}), 1}, {moment(hours{1}), 3}});
}

// Node 1 of two is lost after half an hour and back after an hour and a half; two hours in all.
NodeBill repaired_node(const std::vector<PricedNodes>& pools) {
  NodeBill bill(pools);
  bill.note({.lost = {}, .joined = {0, 1}, .changed_speed = {}});
  bill.pass(moment(seconds{0}), moment(seconds{1800}));
  bill.note({.lost = {1}, .joined = {}, .changed_speed = {}});
  bill.pass(moment(seconds{1800}), moment(seconds{5400}));
  bill.note({.lost = {}, .joined = {1}, .changed_speed = {}});
  bill.pass(moment(seconds{5400}), moment(seconds{7200}));
  return bill;
}

// ---- Random streams of events, in whole seconds.

struct RandomMarket {
  std::vector<PricedNodes> pools;
  std::vector<std::vector<bool>> is_held;  // by second, then node
};

RandomMarket random_market(RandomStream& random) {
  RandomMarket market;
  NodeId nodes = 0;
  const std::size_t pools = 1 + random.below(3);
  for (std::size_t i = 0; i < pools; ++i) {
    std::vector<SpotPrice> prices;
    for (SimTime time{}; prices.size() < random.below(5); time += seconds{1 + random.below(80)})
      prices.push_back({time, static_cast<double>(random.below(4000))});
    const auto count = static_cast<NodeId>(random.below(5));
    market.pools.push_back(
        {count, PriceSchedule(prices), random.uniform() < 0.5 ? Billing::kHeld : Billing::kReserved});
    nodes += count;
  }
  std::vector<bool> held(static_cast<std::size_t>(nodes));
  for (std::size_t second = 0; second < 200; ++second) {
    for (std::size_t node = 0; node < held.size(); ++node) {
      if (random.uniform() < 0.05) held[node] = !held[node];
    }
    market.is_held.push_back(held);
  }
  return market;
}

// What was held before this second and is now.
NodeChange change_at(const RandomMarket& market, std::size_t second) {
  NodeChange change;
  for (std::size_t node = 0; node < market.is_held[second].size(); ++node) {
    const bool was = second > 0 && market.is_held[second - 1][node];
    const bool is = market.is_held[second][node];
    if (was && !is) change.lost.push_back(static_cast<NodeId>(node));
    if (is && !was) change.joined.push_back(static_cast<NodeId>(node));
  }
  return change;
}

}  // namespace

TEST_CASE("node bill: nodes that are held are paid for, at the price of the moment") {
  // Node 0: 1 + 3. Node 1: half an hour at 1, half an hour at 3.
  const std::vector<PricedNodes> pools = {{2, rising_price(), Billing::kHeld}};
  const NodeBill bill = repaired_node(pools);
  CHECK(bill.usd() == doctest::Approx(4 + 0.5 + 1.5).epsilon(1e-15));
  CHECK(bill.missing_time() == 0);
}

TEST_CASE("node bill: reserved nodes are paid for while they are repaired, and while none has come yet") {
  const std::vector<PricedNodes> two = {{2, rising_price(), Billing::kReserved}};
  CHECK(repaired_node(two).usd() == doctest::Approx(2 * 4).epsilon(1e-15));
  CHECK(hours_of(repaired_node(two).missing_time()) == 1);
  const std::vector<PricedNodes> three = {{3, rising_price(), Billing::kReserved}};
  CHECK(repaired_node(three).usd() == doctest::Approx(3 * 4).epsilon(1e-15));
  CHECK(hours_of(repaired_node(three).missing_time()) == 1 + 2);
}

TEST_CASE("node bill: as many nodes are reserved as are there at once, whatever their ids") {
  // Nodes 0 and 1 of ten that come one after the other: never more than two at once.
  const std::vector<PricedNodes> pools = {{10, rising_price(), Billing::kReserved, 2}};
  CHECK(repaired_node(pools).usd() == doctest::Approx(2 * 4).epsilon(1e-15));
  CHECK(hours_of(repaired_node(pools).missing_time()) == 1);
}

TEST_CASE("node bill: every pool has its price and its billing, and pays for its own nodes") {
  const std::vector<PricedNodes> pools = {{1, PriceSchedule(10), Billing::kReserved},
                                          {1, rising_price(), Billing::kHeld}};
  const NodeBill bill = repaired_node(pools);
  REQUIRE(bill.usd_by_pool().size() == 2);
  CHECK(bill.usd_by_pool()[0] == doctest::Approx(20).epsilon(1e-15));
  CHECK(bill.usd_by_pool()[1] == doctest::Approx(0.5 + 1.5).epsilon(1e-15));
  CHECK(bill.usd() == doctest::Approx(22).epsilon(1e-15));
  CHECK(bill.missing_time() == 0);
}

TEST_CASE("node bill: without a pool nodes cost nothing") {
  CHECK(repaired_node({}).usd() == 0);
  CHECK(repaired_node({}).missing_time() == 0);
}

TEST_CASE("node bill: agrees with a bill of every second of every node, on 500 markets at random") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "node bill", 0);
    const RandomMarket market = random_market(random);
    NodeBill bill(market.pools);
    std::vector<double> usd(market.pools.size());
    std::int64_t missing_s = 0;
    std::size_t began = 0;
    for (std::size_t second = 0; second < market.is_held.size(); ++second) {
      const NodeChange change = change_at(market, second);
      const bool is_quiet = change.lost.empty() && change.joined.empty();
      if (!is_quiet || random.uniform() < 0.1) {
        bill.pass(moment(seconds{began}), moment(seconds{second}));
        began = second;
      }
      bill.note(change);
      std::size_t node = 0;
      for (std::size_t i = 0; i < market.pools.size(); ++i) {
        const PricedNodes& pool = market.pools[i];
        for (NodeId n = 0; n < pool.nodes; ++n, ++node) {
          const bool is_held = market.is_held[second][node];
          if (!is_held && pool.billing == Billing::kHeld) continue;
          missing_s += is_held ? 0 : 1;
          usd[i] += pool.prices.cost(moment(seconds{second}), moment(seconds{second + 1}));
        }
      }
    }
    bill.pass(moment(seconds{began}), moment(seconds{market.is_held.size()}));
    CHECK(bill.missing_time() == NodeTime{missing_s} * 1'000'000'000);
    // Sums of up to a thousand terms: rounding alone.
    for (std::size_t i = 0; i < usd.size(); ++i)
      CHECK(bill.usd_by_pool()[i] == doctest::Approx(usd[i]).epsilon(1e-11));
  }
}

}  // namespace goodput
