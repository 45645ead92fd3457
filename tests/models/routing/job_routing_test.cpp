#include "models/routing/job_routing.h"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>

#include "tests/support/placement_case.h"
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
  CHECK(routing.window_end(1) == 31);
  CHECK(routing.window_end(2) == kForEver);
  CHECK(routing.loads(1)[0] == Row{4, 3, 2, 1});
  CHECK(routing.loads(1)[1] == Row{5, 5, 5, 6});
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
  CHECK(routing.window_end(routing.window_at(205)) == 211);
}

}  // namespace goodput
