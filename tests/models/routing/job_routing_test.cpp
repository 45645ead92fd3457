#include "models/routing/job_routing.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "sim/base/random.h"
#include "tests/support/placement_case.h"
#include "tests/support/routing_case.h"
#include "traces/routing/routing_reader.h"

namespace goodput {
namespace {

using Row = std::vector<std::int64_t>;

constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

// Two layers of four experts, recorded at these iterations.
RoutingTrace trace(std::vector<std::int64_t> iterations, const std::vector<Row>& rows) {
  Row loads;
  for (const Row& row : rows) loads.insert(loads.end(), row.begin(), row.end());
  return {std::move(iterations), {0, 1}, 4, std::move(loads)};
}

RoutingTrace three_rows() {
  return trace({1, 11, 31}, {{1, 2, 3, 4, 5, 5, 5, 5}, {4, 3, 2, 1, 5, 5, 5, 6}, {9, 9, 1, 1, 5, 5, 5, 7}});
}

JobRouting routing_of(const RoutingTrace& trace, const RoutingSelection& selection) {
  Result<JobRouting> routing = JobRouting::from_trace(trace, selection);
  REQUIRE_MESSAGE(routing, (routing ? "" : routing.error().message()));
  return *std::move(routing);
}

// A recording of one layer with two experts, every `spacing` iterations from `first` on. The first expert
// gets these numbers of 1000 tokens.
JobRouting walk_of(const Row& loads, std::int64_t first, std::int64_t spacing, AfterEnd after_end) {
  std::vector<std::int64_t> iterations;
  std::vector<testing::LayerLoads> rows;
  for (const std::int64_t load : loads) {
    iterations.push_back(first + std::ssize(rows) * spacing);
    rows.push_back({{load, 1000 - load}});
  }
  return testing::recorded_routing(iterations, rows, after_end);
}

std::int64_t load_at(const JobRouting& routing, std::int64_t step) {
  return routing.loads(routing.window_at(step))[0][0];
}

// A walk with steps of -3 to 3, few enough that rows are equal now and then.
Row random_walk(RandomStream& random, std::size_t rows) {
  Row loads = {500};
  while (loads.size() < rows) loads.push_back(loads.back() + static_cast<std::int64_t>(random.below(7)) - 3);
  return loads;
}

double mean_of(const Row& row) {
  return static_cast<double>(std::accumulate(row.begin(), row.end(), std::int64_t{0})) /
         static_cast<double>(row.size());
}

// Of neighbors in the row.
double autocorrelation(const Row& row) {
  const double mean = mean_of(row);
  double variance = 0;
  double covariance = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double here = static_cast<double>(row[i]) - mean;
    variance += here * here;
    if (i + 1 < row.size()) covariance += here * (static_cast<double>(row[i + 1]) - mean);
  }
  return covariance / variance;
}

std::string refusal(const RoutingSelection& selection) {
  const Result<JobRouting> routing = JobRouting::from_trace(three_rows(), selection);
  return routing ? "" : routing.error().message();
}

}  // namespace

TEST_CASE("job routing: the latest row at or before a step holds, the last one for ever") {
  const JobRouting routing = routing_of(three_rows(), {{0, 1}, 4, 1});
  REQUIRE(routing.windows() == 3);
  CHECK(routing.window_at(0) == 0);  // before the first row
  CHECK(routing.window_at(10) == 0);
  CHECK(routing.window_at(11) == 1);
  CHECK(routing.window_at(30) == 1);
  CHECK(routing.window_at(1'000'000) == 2);
  CHECK(routing.window_end(0) == 11);
  CHECK(routing.window_end(11) == 31);
  CHECK(routing.window_end(31) == kForEver);
  CHECK(routing.window_end(1'000'000) == kForEver);
  CHECK(routing.loads(1)[0] == Row{4, 3, 2, 1});
  CHECK(routing.loads(1)[1] == Row{5, 5, 5, 6});
}

TEST_CASE("job routing: with after_end loop the recording starts again after its last row") {
  // Rows at 1, 11 and 31; the last one holds for 20 iterations, as long as the one before it, until 51.
  const JobRouting routing = routing_of(three_rows(), {{0, 1}, 4, 1, AfterEnd::kLoop});
  CHECK(routing.windows() == 3);
  CHECK(routing.window_at(0) == 0);
  CHECK(routing.window_at(50) == 2);
  CHECK(routing.window_end(31) == 51);
  CHECK(routing.window_at(51) == 0);
  CHECK(routing.window_end(51) == 61);
  CHECK(routing.window_at(61) == 1);
  CHECK(routing.window_end(80) == 81);
  CHECK(routing.window_at(51 + 50 * 1'000'000'000LL) == 0);
}

TEST_CASE("job routing: with after_end continue the later half is traversed backward, then forward") {
  // Of rows at 1, 11 and 31 the later half begins at 11: 20 iterations of one row, 20 of the other until 51.
  const JobRouting routing = routing_of(three_rows(), {{0, 1}, 4, 1, AfterEnd::kContinue});
  CHECK(routing.windows() == 3);
  CHECK(routing.window_at(30) == 1);
  CHECK(routing.window_end(31) == 71);  // 31 .. 50, and back as far
  CHECK(routing.window_at(70) == 2);
  CHECK(routing.window_at(71) == 1);
  CHECK(routing.window_end(71) == 111);  // back to 11 at 90, and forward again
  CHECK(routing.window_at(111) == 2);
  CHECK(routing.window_end(111) == 151);
}

TEST_CASE("job routing: a recording of one row, or without a change in its later half, is held") {
  for (const AfterEnd after_end : {AfterEnd::kLoop, AfterEnd::kContinue}) {
    CHECK(walk_of({5}, 1, 10, after_end).window_end(1) == kForEver);
    CHECK(walk_of({5, 5, 5}, 1, 10, after_end).window_end(1) == kForEver);
  }
  CHECK(walk_of({5, 6}, 1, 10, AfterEnd::kContinue).window_end(11) == kForEver);
  // One that ends where no job gets: its period and the steps after it would not fit into 64 bits.
  CHECK(
      walk_of({5, 6, 7}, 1, std::int64_t{1} << 61, AfterEnd::kLoop).window_end((std::int64_t{1} << 62) + 1) ==
      kForEver);
  CHECK(walk_of({5, 6}, 1, 10, AfterEnd::kLoop).window_end(11) == 21);
}

TEST_CASE("job routing: after the end, loads and changes are those of a recording written out in full") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "after the end");
    const auto first = static_cast<std::int64_t>(random.below(30));
    const auto spacing = static_cast<std::int64_t>(1 + random.below(9));
    const Row rows = random_walk(random, 2 + random.below(9));
    const auto n = std::ssize(rows);
    Row looped = rows;
    Row continued = rows;
    for (int cycle = 0; cycle < 3; ++cycle) {
      looped.insert(looped.end(), rows.begin(), rows.end());
      continued.insert(continued.end(), rows.rbegin(), rows.rend() - n / 2);
      continued.insert(continued.end(), rows.begin() + n / 2, rows.end());
    }
    for (const AfterEnd after_end : {AfterEnd::kLoop, AfterEnd::kContinue}) {
      const Row& all = after_end == AfterEnd::kLoop ? looped : continued;
      const JobRouting found = walk_of(rows, first, spacing, after_end);
      const JobRouting expected = walk_of(all, first, spacing, AfterEnd::kHold);
      CHECK(found.windows() <= rows.size());
      const std::int64_t last_change =
          expected.window_at(1'000'000) == 0 ? 0 : first + (std::ssize(all) - n) * spacing;
      for (std::int64_t step = 0; step < last_change; ++step) {
        REQUIRE(load_at(found, step) == load_at(expected, step));
        // Windows of equal loads apart in time are two, here and there.
        std::int64_t end = step;
        while (end < last_change && load_at(expected, end) == load_at(expected, step)) ++end;
        if (end < last_change) REQUIRE(found.window_end(step) <= end);
        REQUIRE(found.window_end(step) > step);
        REQUIRE(found.window_at(found.window_end(step) - 1) == found.window_at(step));
      }
    }
  }
}

TEST_CASE("job routing: after_end continue keeps the mean and the autocorrelation of the later half") {
  const std::uint64_t seed = 7;
  CAPTURE(seed);
  RandomStream random(seed, "continued walk");
  const Row rows = random_walk(random, 400);
  const Row half(rows.begin() + 200, rows.end());
  const JobRouting routing = walk_of(rows, 1, 10, AfterEnd::kContinue);
  // One cycle: 200 rows back, 200 forward. Every row is there twice: the mean is the same to the bit. Of 400
  // pairs of neighbors 199 are those of the half, 199 the same backward, and two are a row and itself, so
  // that the autocorrelation differs by 2/400 of a product of two deviations at the most.
  Row cycle;
  for (std::int64_t row = 0; row < 400; ++row) cycle.push_back(load_at(routing, 1 + 4000 + 10 * row));
  CHECK(mean_of(cycle) == mean_of(half));
  MESSAGE(
      fmt::format("autocorrelation {:.4f}, recorded {:.4f}", autocorrelation(cycle), autocorrelation(half)));
  CHECK(std::abs(autocorrelation(cycle) - autocorrelation(half)) < 0.02);
  std::int64_t jump = 0;
  for (std::size_t i = 1; i < cycle.size(); ++i) jump = std::max(jump, std::abs(cycle[i] - cycle[i - 1]));
  CHECK(jump <= 3);
}

TEST_CASE("job routing: rows of the same loads are one window") {
  const Row same = {1, 2, 3, 4, 5, 5, 5, 5};
  const JobRouting routing =
      routing_of(trace({1, 11, 21, 31}, {same, same, {4, 3, 2, 1, 5, 5, 5, 5}, same}), {{0, 1}, 4, 1});
  CHECK(routing.windows() == 3);
  CHECK(routing.window_end(0) == 21);
  // Of the second layer alone nothing changes at all.
  CHECK(routing_of(trace({1, 11}, {same, {4, 3, 2, 1, 5, 5, 5, 5}}), {{1}, 4, 1}).windows() == 1);
}

TEST_CASE("job routing: experts are chosen once, by their loads at one iteration, and keep their order") {
  // At 11 the first layer's busiest are experts 0 and 1; with 3 and 4 tokens 2 and 3 are at iteration 1.
  const JobRouting by_second = routing_of(three_rows(), {{0}, 2, 11});
  CHECK(by_second.loads(0)[0] == Row{1, 2});
  CHECK(by_second.loads(1)[0] == Row{4, 3});
  CHECK(routing_of(three_rows(), {{0}, 2, 1}).loads(1)[0] == Row{2, 1});
}

TEST_CASE("job routing: the nearest recorded iteration chooses, of two as near the earlier") {
  const auto first_row = [](std::int64_t at) { return routing_of(three_rows(), {{0}, 1, at}).loads(0)[0]; };
  CHECK(first_row(-5) == Row{4});   // expert 3, of iteration 1
  CHECK(first_row(6) == Row{4});    // between 1 and 11
  CHECK(first_row(7) == Row{1});    // expert 0, of iteration 11
  CHECK(first_row(201) == Row{1});  // experts 0 and 1 have as many at 31: the lower
}

TEST_CASE("job routing: balanced experts get as much in one window") {
  const JobRouting routing = JobRouting::balanced(3, 4);
  CHECK(routing.windows() == 1);
  CHECK(routing.window_at(12345) == 0);
  CHECK(routing.window_end(0) == kForEver);
  REQUIRE(routing.loads(0).size() == 3);
  CHECK(scaled_loads(routing.loads(0), 10)[2] == Row{3, 3, 2, 2});  // largest remainder, lower experts first
}

TEST_CASE("job routing: a trace of too few experts or layers is refused") {
  CHECK(refusal({{0}, 5, 201}) ==
        "routing: has 4 experts per layer, but the model has 5; give a trace with at least as many");
  CHECK(refusal({{0, 2}, 4, 201}) == "routing: has 2 layers, so there is no layer at position 2");
  CHECK(refusal({{}, 4, 201}) == "routing: no layer is selected");
}

TEST_CASE("job routing: ranks share tokens evenly, the lowest get those left over") {
  CHECK(tokens_of_rank(11, 4, 0) == 3);
  CHECK(tokens_of_rank(11, 4, 2) == 3);
  CHECK(tokens_of_rank(11, 4, 3) == 2);
  for (std::int64_t tokens = 0; tokens < 30; ++tokens) {
    std::int64_t sum = 0;
    for (std::int32_t rank = 0; rank < 7; ++rank) sum += tokens_of_rank(tokens, 7, rank);
    CHECK(sum == tokens);
  }
}

TEST_CASE("job routing: scaled loads add up to what all ranks route") {
  for (const auto& layer : scaled_loads(routing_of(three_rows(), {{0, 1}, 4, 1}).loads(0), 40'960)) {
    CHECK(std::accumulate(layer.begin(), layer.end(), std::int64_t{0}) == 40'960);
  }
}

TEST_CASE("job routing: of the published trace it gives the loads that placements are published for") {
  const auto loads = testing::published_loads(201, 16);
  if (!loads) {
    MESSAGE("skipped: no shared data");
    return;
  }
  const auto recorded =
      read_routing_trace(std::string(GOODPUT_SHARED_DATA) + "/routing/smartmoe_expert_load_agg.csv.gz");
  REQUIRE(recorded);
  const JobRouting routing = routing_of(*recorded, {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 16, 201});
  const auto found = routing.loads(routing.window_at(205));
  CHECK(ExpertTokens(found.begin(), found.end()) == *loads);
  CHECK(routing.window_end(205) == 211);
}

}  // namespace goodput
