#include "sim/engine/fair_share.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

using Routes = std::vector<std::vector<LinkId>>;  // by flow; empty: not active

FairShare with_capacities(const std::vector<double>& capacities, std::size_t flows) {
  std::vector<BytesPerSecond> links;
  for (const double capacity : capacities) links.push_back({capacity});
  FairShare shares;
  shares.reset(links, flows);
  return shares;
}

std::vector<double> rates(const FairShare& shares, std::size_t flows) {
  std::vector<double> result;
  for (FlowId flow = 0; flow < flows; ++flow) result.push_back(shares.rate(flow).value);
  return result;
}

// The sets of connected flows, sorted.
std::vector<std::vector<FlowId>> settle(FairShare& shares) {
  std::vector<std::vector<FlowId>> sets;
  shares.settle([&](std::span<const FlowId> flows) {
    std::ranges::sort(sets.emplace_back(flows.begin(), flows.end()));
  });
  std::ranges::sort(sets);
  return sets;
}

std::vector<double> rates_of(const std::vector<double>& capacities, const Routes& routes) {
  FairShare shares = with_capacities(capacities, routes.size());
  for (FlowId flow = 0; flow < routes.size(); ++flow) shares.start(flow, routes[flow]);
  (void)settle(shares);
  return rates(shares, routes.size());
}

// The definition: all rates rise together; when a link is full, the flows on it stay where they are.
std::vector<double> reference_rates(const std::vector<double>& capacities, const Routes& routes) {
  std::vector<double> rate(routes.size(), 0);
  std::vector<bool> rising(routes.size());
  for (std::size_t flow = 0; flow < routes.size(); ++flow) rising[flow] = !routes[flow].empty();
  const auto crosses = [&](std::size_t flow, std::size_t link) {
    return std::find(routes[flow].begin(), routes[flow].end(), link) != routes[flow].end();
  };
  while (std::find(rising.begin(), rising.end(), true) != rising.end()) {
    double rise = std::numeric_limits<double>::infinity();
    std::size_t full = 0;
    for (std::size_t link = 0; link < capacities.size(); ++link) {
      double left = capacities[link];
      double open = 0;
      for (std::size_t flow = 0; flow < routes.size(); ++flow) {
        if (!crosses(flow, link)) continue;
        left -= rate[flow];
        open += rising[flow] ? 1 : 0;
      }
      if (open > 0 && left / open < rise) {
        rise = left / open;
        full = link;
      }
    }
    for (std::size_t flow = 0; flow < routes.size(); ++flow) {
      if (!rising[flow]) continue;
      rate[flow] += rise;
      if (crosses(flow, full)) rising[flow] = false;
    }
  }
  return rate;
}

Routes random_routes(RandomStream& random, std::size_t links) {
  Routes routes(1 + random.below(12));
  for (auto& route : routes) {
    for (LinkId link = 0; link < links; ++link) {
      if (random.uniform() < 0.3) route.push_back(link);
    }
  }
  return routes;
}

// Rates of one filling differ from the reference's by rounding only.
constexpr double kRounding = 1e-12;

void require_equal(const std::vector<double>& actual, const std::vector<double>& expected) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    REQUIRE(std::abs(actual[i] - expected[i]) <= kRounding * expected[i]);
  }
}

}  // namespace

TEST_CASE("fair share: n equal flows on one link get an n-th each, exactly") {
  for (std::size_t n = 1; n <= 9; ++n) {
    CHECK(rates_of({50e9}, Routes(n, {0})) == std::vector<double>(n, 50e9 / static_cast<double>(n)));
  }
}

TEST_CASE("fair share: a flow alone gets the least capacity of its route") {
  CHECK(rates_of({50e9, 25e9, 400e9}, {{0, 1, 2}}) == std::vector<double>{25e9});
}

TEST_CASE("fair share: of three flows over two links the long one gets the lesser share") {
  // x over both links, y over the first, z over the second; capacities 1 and 2:
  // the first link gives x and y 1/2 each; the second has 2 - 1/2 left for z.
  CHECK(rates_of({1, 2}, {{0, 1}, {0}, {1}}) == std::vector<double>{0.5, 0.5, 1.5});
  // Equal capacities: all get half, although two links at full use carry 3/2 and not 2.
  CHECK(rates_of({1, 1}, {{0, 1}, {0}, {1}}) == std::vector<double>{0.5, 0.5, 0.5});
}

TEST_CASE("fair share: what a bottleneck elsewhere leaves goes to the others") {
  // Link 0 of 1 gives four flows 1/4; link 1 of 1 has one of them and one flow more: that gets 3/4.
  CHECK(rates_of({1, 1}, {{0}, {0}, {0}, {0, 1}, {1}}) == std::vector<double>{0.25, 0.25, 0.25, 0.25, 0.75});
}

TEST_CASE("fair share: a flow that stops gives its share back") {
  const Routes routes = {{0}, {0}};
  FairShare shares = with_capacities({6}, 2);
  shares.start(0, routes[0]);
  shares.start(1, routes[1]);
  CHECK(shares.is_unsettled());
  (void)settle(shares);
  CHECK_FALSE(shares.is_unsettled());
  CHECK(rates(shares, 2) == std::vector<double>{3, 3});
  shares.stop(0);
  (void)settle(shares);
  CHECK(rates(shares, 2) == std::vector<double>{0, 6});
}

TEST_CASE("fair share: only flows connected with a change are looked at") {
  // Flows 0 and 1 share link 0; flow 2 is alone on link 1. Flow 3 joins those on link 0; flow 4 connects all,
  // and leaves two sets behind.
  const Routes routes = {{0}, {0}, {1}, {0}, {0, 1}};
  using Sets = std::vector<std::vector<FlowId>>;
  FairShare shares = with_capacities({6, 6}, 5);
  for (FlowId flow = 0; flow < 3; ++flow) shares.start(flow, routes[flow]);
  CHECK(settle(shares) == Sets{{0, 1}, {2}});
  shares.start(3, routes[3]);
  CHECK(settle(shares) == Sets{{0, 1, 3}});
  CHECK(rates(shares, 4) == std::vector<double>{2, 2, 6, 2});
  shares.start(4, routes[4]);
  CHECK(settle(shares) == Sets{{0, 1, 2, 3, 4}});
  CHECK(rates(shares, 5) == std::vector<double>{1.5, 1.5, 4.5, 1.5, 1.5});
  shares.stop(4);
  CHECK(settle(shares) == Sets{{0, 1, 3}, {2}});
  CHECK(settle(shares).empty());
}

TEST_CASE("fair share: random flows get what the definition gives them") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "fair share");
    std::vector<double> capacities(1 + random.below(8));
    for (double& capacity : capacities) capacity = static_cast<double>(1 + random.below(10));
    const Routes routes = random_routes(random, capacities.size());
    Routes active(routes.size());
    FairShare shares = with_capacities(capacities, routes.size());
    for (int change = 0; change < 30; ++change) {
      const auto flow = static_cast<FlowId>(random.below(routes.size()));
      if (routes[flow].empty()) continue;
      if (active[flow].empty()) {
        shares.start(flow, routes[flow]);
        active[flow] = routes[flow];
      } else {
        shares.stop(flow);
        active[flow].clear();
      }
      if (random.uniform() < 0.5) continue;  // several changes at once
      (void)settle(shares);
      require_equal(rates(shares, routes.size()), reference_rates(capacities, active));
    }
  }
}

TEST_CASE("fair share: no link is overloaded and every flow has a full link on which none is faster") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "bottleneck");
    std::vector<double> capacities(1 + random.below(8));
    for (double& capacity : capacities) capacity = random.uniform(1e9, 50e9);
    Routes routes = random_routes(random, capacities.size());
    std::erase_if(routes, [](const auto& route) { return route.empty(); });
    const std::vector<double> rate = rates_of(capacities, routes);
    std::vector<double> load(capacities.size(), 0);
    std::vector<double> fastest(capacities.size(), 0);
    for (std::size_t flow = 0; flow < routes.size(); ++flow) {
      for (const LinkId link : routes[flow]) {
        load[link] += rate[flow];
        fastest[link] = std::max(fastest[link], rate[flow]);
      }
    }
    for (std::size_t link = 0; link < capacities.size(); ++link) {
      REQUIRE(load[link] <= capacities[link] * (1 + kRounding));
    }
    for (std::size_t flow = 0; flow < routes.size(); ++flow) {
      REQUIRE(std::any_of(routes[flow].begin(), routes[flow].end(), [&](LinkId link) {
        return load[link] >= capacities[link] * (1 - kRounding) &&
               rate[flow] >= fastest[link] * (1 - kRounding);
      }));
    }
  }
}

TEST_CASE("fair share: a flow that is active cannot start, one that is not cannot stop") {
  const Routes routes = {{0}};
  FairShare shares = with_capacities({1}, 1);
  CHECK_THROWS_AS(shares.stop(0), InternalError);
  CHECK_THROWS_AS(shares.start(0, {}), InternalError);
  shares.start(0, routes[0]);
  CHECK_THROWS_AS(shares.start(0, routes[0]), InternalError);
  CHECK_THROWS_AS(with_capacities({0}, 1), InternalError);
}

}  // namespace goodput
