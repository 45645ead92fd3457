#include "models/routing/synthetic_routing.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <string>

#include "sim/base/json.h"
#include "sim/routing/routing_statistics.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

const std::string kSmartMoe = std::string(GOODPUT_CONFIGS) + "/routing/smartmoe-like.json";

RoutingModel smartmoe_like() {
  auto model = config::read<RoutingModel>(kSmartMoe);
  INFO((model ? std::string() : model.error().message()));
  REQUIRE(model);
  return *std::move(model);
}

RoutingModel still_model() {
  RoutingModel model;
  model.layers = 3;
  model.experts = 8;
  model.top_k = 2;
  model.tokens = 1000;
  model.iterations = 4;
  model.course = {{1, 2.0, 0.0}};
  return model;
}

std::string error_of(const std::string& text) {
  const TemporaryFile file("routing.json", text);
  const auto model = config::read<RoutingModel>(file.path());
  REQUIRE_FALSE(model);
  return without_path(model.error().message(), file);
}

std::string config_with(const std::string& more) {
  return R"({"layers": 2, "experts": 4, "tokens": 10, )" + more + "}";
}

TEST_CASE("top-k shares: equal logits share evenly, and a share is an odds ratio below 1 / top_k") {
  for (const double share : top_k_shares({3, 3, 3, 3}, 1)) CHECK(share == doctest::Approx(0.25));
  // Two experts, one to choose: sigmoid(a + c) + sigmoid(b + c) = 1 where a + c = -(b + c) = (a - b) / 2.
  const std::vector<double> shares = top_k_shares({2, 0}, 1);
  CHECK(shares[0] == doctest::Approx(1 / (1 + std::exp(-1.0))));
  CHECK(shares[1] == doctest::Approx(1 - shares[0]));
}

TEST_CASE("top-k shares: they add up to 1 whatever the logits") {
  for (const double scale : {1e-6, 1.0, 30.0, 500.0}) {
    std::vector<double> logits;
    for (int e = 0; e < 32; ++e) logits.push_back(scale * std::sin(7.0 * e));
    const std::vector<double> shares = top_k_shares(logits, 4);
    CHECK(std::accumulate(shares.begin(), shares.end(), 0.0) == doctest::Approx(1).epsilon(1e-9));
    for (const double share : shares) CHECK(share <= 0.25 * (1 + 1e-12));
  }
}

TEST_CASE("synthetic routing: all tokens go somewhere, at most one copy to an expert") {
  RoutingModel model = still_model();
  model.course = {{1, 40.0, 0.1}};
  const RoutingTrace trace = synthesize_routing(model, 5);
  CHECK(trace.iterations() == std::vector<std::int64_t>{1, 2, 3, 4});
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t l = 0; l < 3; ++l) {
      CHECK(trace.total(i, l) == 2000);
      for (const std::int64_t load : trace.loads(i, l)) CHECK(load <= 1000);
    }
  }
}

TEST_CASE("synthetic routing: without drift and noise every iteration is the same") {
  const RoutingTrace trace = synthesize_routing(still_model(), 1);
  for (std::size_t l = 0; l < 3; ++l) {
    CHECK(mean_routing_distance(trace, l, 3) == 0);
    CHECK(skew_of(trace.loads(0, l)).padding_factor > 1.5);
  }
}

TEST_CASE("synthetic routing: seeds and layers differ, runs do not") {
  const RoutingModel model = still_model();
  CHECK(synthesize_routing(model, 1) == synthesize_routing(model, 1));
  const RoutingTrace one = synthesize_routing(model, 1);
  CHECK(one != synthesize_routing(model, 2));
  CHECK(routing_distance(one.loads(0, 0), one.loads(0, 1)) > 0.1);
}

TEST_CASE("synthetic routing: fewer iterations and layers are the beginning of more") {
  RoutingModel model = smartmoe_like();
  model.layers = 3;
  model.iterations = 6;
  const RoutingTrace more = synthesize_routing(model, 7);
  model.layers = 2;
  model.iterations = 4;
  const RoutingTrace fewer = synthesize_routing(model, 7);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t l = 0; l < 2; ++l) CHECK(routing_distance(fewer.loads(i, l), more.loads(i, l)) == 0);
  }
}

TEST_CASE("synthetic routing: a walk forgets exp(-drift) of itself, whatever is recorded of it") {
  // After 100 iterations of 0.05 only exp(-5) is left: as far apart as two layers. The same over one step of
  // 100.
  RoutingModel model = still_model();
  model.layers = 200;
  model.tokens = 1'000'000;
  model.course = {{1, 2.0, 0.05}};
  const auto distance = [&](std::int64_t interval, std::int64_t iterations) {
    model.interval = interval;
    model.iterations = iterations;
    const RoutingTrace trace = synthesize_routing(model, 3);
    double sum = 0;
    for (std::size_t l = 0; l < 200; ++l) {
      sum += routing_distance(trace.loads(0, l), trace.loads(trace.iterations().size() - 1, l));
    }
    return sum / 200;
  };
  const RoutingTrace trace = synthesize_routing(model, 3);
  double between_layers = 0;
  for (std::size_t l = 0; l + 1 < 200; ++l) {
    between_layers += routing_distance(trace.loads(0, l), trace.loads(0, l + 1)) / 199;
  }
  // The mean of 200 distances, each within about 0.1: two standard errors are 0.02.
  CHECK(std::abs(distance(100, 2) - between_layers) < 0.03);
  CHECK(std::abs(distance(100, 2) - distance(10, 11)) < 0.03);
}

TEST_CASE("synthetic routing: the spread between two points is a power of the iteration") {
  // ln(1 + i): 0 at 0, ln 4 half way at 3, ln 16 at 15. Spread 0.1 -> 6.4: 0.8 at 3, which 'steady' has
  // throughout.
  RoutingModel model = still_model();
  model.first_iteration = 3;
  model.iterations = 1;
  model.course = {{0, 0.1, 0}, {15, 6.4, 0}};
  RoutingModel steady = model;
  steady.course = {{0, 0.8, 0}};
  CHECK(synthesize_routing(model, 1) == synthesize_routing(steady, 1));
}

// Means over 10 seeds x 24 layers of what the SmartMoE recording has (docs/validation.md); the tolerances are
// those of the model, whose tails are a little lighter, not of the draws.
TEST_CASE("synthetic routing: skew and drift are those of the recorded job" * doctest::test_suite("slow")) {
  struct Recorded {
    std::size_t row;
    double padding_factor, variation, hottest_share;
  };
  const Recorded recorded[] = {{0, 1.54, 0.21, 0.048},    {20, 10.55, 2.32, 0.330},
                               {50, 9.11, 1.96, 0.285},   {100, 10.49, 2.19, 0.328},
                               {200, 11.60, 2.36, 0.363}, {500, 12.58, 2.53, 0.393}};
  const struct {
    std::size_t rows;
    double distance;
  } lags[] = {{1, 0.031}, {10, 0.048}, {100, 0.095}};
  constexpr int kSeeds = 10;
  const RoutingModel model = smartmoe_like();
  double padding[6] = {};
  double variation[6] = {};
  double hottest[6] = {};
  double distance[3] = {};
  double changes = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const RoutingTrace trace = synthesize_routing(model, static_cast<std::uint64_t>(seed));
    for (std::size_t l = 0; l < 24; ++l) {
      for (std::size_t r = 0; r < 6; ++r) {
        const RoutingSkew skew = skew_of(trace.loads(recorded[r].row, l));
        padding[r] += skew.padding_factor / (24 * kSeeds);
        variation[r] += skew.variation / (24 * kSeeds);
        hottest[r] += skew.hottest_share / (24 * kSeeds);
      }
      for (std::size_t k = 0; k < 3; ++k)
        distance[k] += mean_routing_distance(trace, l, lags[k].rows) / (24 * kSeeds);
      changes += hottest_change_rate(trace, l) / (24 * kSeeds);
    }
  }
  for (std::size_t r = 0; r < 6; ++r) {
    INFO("row " << recorded[r].row);
    CHECK(padding[r] == doctest::Approx(recorded[r].padding_factor).epsilon(0.12));
    CHECK(variation[r] == doctest::Approx(recorded[r].variation).epsilon(0.08));
    CHECK(hottest[r] == doctest::Approx(recorded[r].hottest_share).epsilon(0.12));
  }
  for (std::size_t k = 0; k < 3; ++k) {
    INFO("rows apart " << lags[k].rows);
    CHECK(distance[k] == doctest::Approx(lags[k].distance).epsilon(0.15));
  }
  CHECK(changes > 0.02);  // recorded 0.042
  CHECK(changes < 0.08);
}

TEST_CASE("synthetic routing config: what it lacks and what contradicts itself is named") {
  const std::string course = R"("course": [{"iteration": 1, "spread": 1, "drift": 0}])";
  CHECK(error_of(config_with(course)) == " /top_k: is missing; it must be an integer from 1 to 65535");
  CHECK(error_of(config_with(R"("top_k": 4, )" + course)) ==
        " /top_k: must be less than the number of experts (4), not 4");
  CHECK(error_of(config_with(R"("top_k": 1, "course": [])")) == " /course: must have at least one point");
  CHECK(error_of(config_with(R"("top_k": 1, "course": 3)")) ==
        " /course: must be an array of points {iteration, spread, drift}");
  CHECK(error_of(config_with(R"("top_k": 1, "course": [{"iteration": 5, "spread": 1, "drift": 0},
                                                        {"iteration": 5, "spread": 1, "drift": 0}])")) ==
        " /course/1/iteration: must be more than the iteration of the previous point (5), not 5");
  CHECK(error_of(config_with(R"("top_k": 1, "course": [{"iteration": 5, "spread": 0, "drift": 0}])")) ==
        " /course/0/spread: must be a number from 0.001 to 50, not 0");
  CHECK(error_of(config_with(R"("top_k": 1, "iterations": 10000000, "layers_": 1, )" + course)) ==
        " /layers_: unknown key; did you mean \"layers\"?");
  // 2^27 counts / 2 layers / 4 experts = 16,777,216 rows fit; 10,000,000 iterations do; with 8 layers they do
  // not.
  CHECK(error_of(R"({"layers": 8, "experts": 4, "tokens": 10, "top_k": 1, "iterations": 10000000, )" +
                 course + "}") ==
        " /iterations: must be at most 4194304, not 10000000: with 8 layers x 4 experts the trace would have "
        "more than 134217728 counts");
}

TEST_CASE("synthetic routing config: written back it reads the same") {
  RoutingModel model = smartmoe_like();
  CHECK(model.course.size() == 18);
  const TemporaryFile file("routing.json", config::write(config_fields(model)).dump());
  const auto again = config::read<RoutingModel>(file.path());
  REQUIRE(again);
  CHECK(synthesize_routing(*again, 1) == synthesize_routing(model, 1));
}

}  // namespace
}  // namespace goodput
