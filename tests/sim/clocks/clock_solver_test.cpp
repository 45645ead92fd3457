// Offsets from differences, against closed forms.
#include "sim/clocks/clock_solver.h"

#include <doctest/doctest.h>

#include <cmath>

#include "sim/base/random.h"
#include "sim/clocks/clock_network.h"

namespace goodput {
namespace {

ClockNetwork network_of(std::size_t nodes, const std::vector<ClockPair>& pairs) {
  ClockNetwork network;
  network.nodes = nodes;
  network.pairs = pairs;
  return network;
}

std::vector<double> solve(const ClockNetwork& network, const std::vector<ClockDifference>& differences) {
  return ClockSolver(network, std::vector<double>(network.nodes, 0.0)).solve(differences);
}

}  // namespace

TEST_CASE("clock solver: a chain of pairs adds up") {
  // o_0 - o_1 = 0.05, o_1 - o_2 = -2: o_0 - o_2 = -1.95
  const ClockNetwork network = network_of(3, {{0, 1, 0, 1}, {1, 2, 1, 2}});
  const std::vector<double> offsets = solve(network, {{0.05, 1e-4}, {-2, 1e-4}});
  CHECK(offsets[0] - offsets[1] == doctest::Approx(0.05).epsilon(1e-5));
  CHECK(offsets[0] - offsets[2] == doctest::Approx(-1.95).epsilon(1e-5));
}

TEST_CASE("clock solver: small disagreement of a cycle is shared by precision, least squares") {
  // Around 0 -> 1 -> 2 -> 0 the differences add up to 3e-4. The third pair is half as noisy, its variance a
  // quarter: shares 4 : 4 : 1 of 3e-4. Less than 1.5 noises each, so Huber's rho is quadratic.
  const ClockNetwork network = network_of(3, {{0, 1, 0, 1}, {1, 2, 1, 2}, {2, 0, 2, 0}});
  const std::vector<double> offsets = solve(network, {{1e-4, 2e-3}, {1e-4, 2e-3}, {1e-4, 1e-3}});
  CHECK(offsets[0] - offsets[1] == doctest::Approx(1e-4 - 3e-4 * 4 / 9).epsilon(0.01));
  CHECK(offsets[2] - offsets[0] == doctest::Approx(1e-4 - 3e-4 * 1 / 9).epsilon(0.01));
}

TEST_CASE("clock solver: one pair that contradicts many pulls no harder than 1.5 of its noise") {
  // Six clocks, all pairs say 0, one says 1 s. With Huber's rho the wrong pair pulls with 1.5 / noise; five
  // others hold each of its clocks with 1 / noise^2 and the network between them: well below a noise.
  std::vector<ClockPair> pairs;
  std::vector<ClockDifference> differences;
  for (std::uint32_t a = 0; a < 6; ++a) {
    for (std::uint32_t b = a + 1; b < 6; ++b) {
      pairs.push_back({a, b, a, b});
      differences.push_back({a == 0 && b == 1 ? 1.0 : 0.0, 1e-3});
    }
  }
  const std::vector<double> offsets = solve(network_of(6, pairs), differences);
  CHECK(std::abs(offsets[0] - offsets[1]) < 1e-3);
}

TEST_CASE("clock solver: random consistent networks are solved, whatever starts and weights") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "clock network");
    const auto nodes = static_cast<std::uint32_t>(2 + random.below(40));
    std::vector<double> truth;
    for (std::uint32_t i = 0; i < nodes; ++i) truth.push_back(random.uniform(-2, 2));
    std::vector<ClockPair> pairs;
    std::vector<ClockDifference> differences;
    const auto connect = [&](std::uint32_t a, std::uint32_t b) {
      pairs.push_back({a, b, a, b});
      differences.push_back({truth[a] - truth[b], random.uniform(1e-4, 1e-2)});
    };
    for (std::uint32_t i = 1; i < nodes; ++i) connect(static_cast<std::uint32_t>(random.below(i)), i);
    for (std::uint32_t i = 0; i < nodes; ++i) {
      const auto other = static_cast<std::uint32_t>(random.below(nodes));
      if (other != i) connect(i, other);
    }
    const std::vector<double> offsets = solve(network_of(nodes, pairs), differences);
    double worst = 0;
    for (std::uint32_t i = 1; i < nodes; ++i)
      worst = std::max(worst, std::abs(offsets[i] - offsets[0] - (truth[i] - truth[0])));
    CHECK(worst < 5e-5);
  }
}

}  // namespace goodput
