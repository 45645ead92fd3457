// Routing statistics on the recording of the SmartMoE artifact, where it is to be had
// (GOODPUT_SHARED_DATA/routing).
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/routing/synthetic_routing.h"
#include "sim/routing/routing_statistics.h"
#include "traces/routing/routing_reader.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLayers = 24;

// Summed over ranks and micro-batches. Nothing, with a "skipped" message, when there is no shared data here.
std::optional<RoutingTrace> recorded() {
  const fs::path file = fs::path(GOODPUT_SHARED_DATA) / "routing" / "smartmoe_expert_load_agg.csv.gz";
  if (!fs::exists(file)) {
    MESSAGE("skipped: no shared data");
    return std::nullopt;
  }
  auto trace = read_routing_trace(file.string());
  REQUIRE(trace);
  return *std::move(trace);
}

std::vector<std::string> raw_sample() {
  std::vector<std::string> paths;
  for (const auto& entry :
       fs::directory_iterator(fs::path(GOODPUT_SHARED_DATA) / "routing" / "smartmoe_raw_sample")) {
    paths.push_back(entry.path().string());
  }
  return paths;
}

// Mean of the first `layers` layers.
template <typename OfLayer>
double mean_of_layers(std::size_t layers, OfLayer of_layer) {
  double sum = 0;
  for (std::size_t l = 0; l < layers; ++l) sum += of_layer(l);
  return sum / static_cast<double>(layers);
}

double mean_padding(const RoutingTrace& trace, std::size_t iteration) {
  return mean_of_layers(kLayers,
                        [&](std::size_t l) { return skew_of(trace.loads(iteration, l)).padding_factor; });
}

TEST_CASE("smartmoe: every row holds all tokens") {
  const auto trace = recorded();
  if (!trace) return;
  CHECK(trace->iterations().size() == 501);
  CHECK(trace->layers().size() == kLayers);
  CHECK(trace->experts() == 32);
  // 16 ranks x 4 micro-batches x 2048 tokens x top 2.
  for (std::size_t i = 0; i < 501; ++i) {
    for (std::size_t l = 0; l < kLayers; ++l) REQUIRE(trace->total(i, l) == 262'144);
  }
}

TEST_CASE("smartmoe: the raw logs of an iteration add up to the aggregated rows exactly") {
  const auto trace = recorded();
  if (!trace) return;
  const auto raw = read_routing_files(raw_sample());
  REQUIRE(raw);
  CHECK(raw->format == "smartmoe_log");
  CHECK(raw->ranks == 16);
  CHECK(raw->micro_batches == 4);
  CHECK(raw->trace.iterations() == std::vector<std::int64_t>{201});
  const std::size_t iteration = trace->index_at(201);
  REQUIRE(trace->iterations()[iteration] == 201);
  for (std::size_t l = 0; l < kLayers; ++l) {
    const auto expected = trace->loads(iteration, l);
    const auto actual = raw->trace.loads(0, l);
    CHECK(std::equal(expected.begin(), expected.end(), actual.begin(), actual.end()));
  }
}

TEST_CASE("smartmoe: a log that is given twice is refused") {
  if (!recorded()) return;
  auto paths = raw_sample();
  paths.push_back(paths.front());
  CHECK(read_routing_files(paths).error().what.find("is already in") != std::string::npos);
}

TEST_CASE("smartmoe: padding factors of the busiest experts at iteration 201, mean of layers 0 to 11") {
  const auto trace = recorded();
  if (!trace) return;
  const std::size_t iteration = trace->index_at(205);  // the latest recorded one
  CHECK(trace->iterations()[iteration] == 201);
  const auto padding = [&](std::size_t experts) {
    return mean_of_layers(
        12, [&](std::size_t l) { return padding_factor_of_busiest(trace->loads(iteration, l), experts); });
  };
  // Known as 3.2, 4.7 and 6.3.
  CHECK(padding(8) == doctest::Approx(3.198).epsilon(0.0005));
  CHECK(padding(12) == doctest::Approx(4.722).epsilon(0.0005));
  CHECK(padding(16) == doctest::Approx(6.276).epsilon(0.0005));
}

// How far 10 seeds of the generator are from the recording; the figures are in docs/validation.md.
TEST_CASE("smartmoe: the synthetic routing has the recorded skew and drift" *
          doctest::test_suite("release-only")) {
  const auto trace = recorded();
  if (!trace) return;
  constexpr int kSeeds = 10;
  const auto model = config::read<RoutingModel>(std::string(GOODPUT_CONFIGS) + "/routing/smartmoe-like.json");
  REQUIRE(model);
  std::vector<RoutingTrace> synthetic;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) synthetic.push_back(synthesize_routing(*model, seed));
  const auto mean_of_seeds = [&](auto statistic) {
    double sum = 0;
    for (const RoutingTrace& one : synthetic) sum += statistic(one);
    return sum / kSeeds;
  };
  for (const std::int64_t iteration : {1, 11, 51, 101, 201, 501, 1001, 2001, 3001, 4001, 5001}) {
    const std::size_t i = trace->index_at(iteration);
    REQUIRE(trace->iterations()[i] == iteration);
    const double expected = mean_padding(*trace, i);
    const double actual = mean_of_seeds([&](const RoutingTrace& one) { return mean_padding(one, i); });
    INFO("padding factor at " << iteration << ": " << actual << ", recorded " << expected);
    CHECK(std::abs(actual / expected - 1) < 0.12);
  }
  for (const std::size_t rows : {1U, 2U, 5U, 10U, 20U, 50U, 100U, 200U}) {
    const auto distance = [&](const RoutingTrace& one) {
      return mean_of_layers(kLayers, [&](std::size_t l) { return mean_routing_distance(one, l, rows); });
    };
    const double expected = distance(*trace);
    const double actual = mean_of_seeds(distance);
    INFO("distance after " << 10 * rows << " iterations: " << actual << ", recorded " << expected);
    CHECK(std::abs(actual / expected - 1) < 0.16);
  }
}

}  // namespace
}  // namespace goodput
