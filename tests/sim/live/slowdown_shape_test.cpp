#include "sim/live/slowdown_shape.h"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "tests/support/analysed_trace.h"
#include "tests/support/synthetic_case.h"

namespace goodput {
namespace {

using Map = std::vector<double>;

// Replicas, a line each, of three stages.
SlowdownShape shape_of(const Map& map) {
  return slowdown_shape(map, static_cast<std::int32_t>(map.size()) / 3, 3, 1.3);
}

SlowdownShape shape_of_job(std::string_view kind, std::uint64_t seed) {
  testing::SyntheticCase job =
      testing::random_case(seed, kind == "none" ? std::vector<std::string_view>{} : std::vector{kind}, 2);
  const testing::AnalysedTrace trace = testing::analysed(job.synthesize(Truth::kSlowdown).rows);
  const WhatIf result =
      testing::value_or_throw(WhatIfEngine(trace.graph, trace.recording, {.by_step = true}).analyse());
  return slowdown_shape_over(result.worker_step_slowdown, job.shape.dp, job.shape.pp, result.slowdown);
}

}  // namespace

TEST_CASE("slowdown shape: of one map, cells are workers, columns stages, rows lengths of sequences") {
  CHECK(slowdown_shape(Map{1, 1.01, 1, 1}, 2, 2, 1.01) == SlowdownShape::kNone);
  CHECK(shape_of({1, 1.3, 1, 1, 1, 1, 1, 1, 1.01}) == SlowdownShape::kWorkers);
  CHECK(shape_of({1.2, 1.3, 1.2, 1, 1, 1, 1, 1, 1.01}) == SlowdownShape::kWorkers);  // a host of a replica
  CHECK(shape_of({1, 1, 1.3, 1, 1, 1.28, 1.01, 1, 1.31}) == SlowdownShape::kStages);
  CHECK(shape_of({1.3, 1.28, 1.31, 1.1, 1.12, 1.1, 1.2, 1.21, 1.2}) == SlowdownShape::kSequence);
  CHECK(shape_of({1.3, 1, 1.1, 1, 1.3, 1, 1.1, 1, 1.3}) == SlowdownShape::kOther);
  // Slow, and no worker alone is.
  CHECK(shape_of({1, 1, 1, 1, 1, 1.001}) == SlowdownShape::kOther);
}

TEST_CASE("slowdown shape: of one replica, a column that stands alone is a worker") {
  CHECK(slowdown_shape(Map{1, 1.3, 1.1}, 1, 3, 1.3) == SlowdownShape::kWorkers);
  CHECK(slowdown_shape(Map{1, 1.3, 1.2}, 1, 3, 1.3) == SlowdownShape::kStages);
  CHECK(slowdown_shape(Map{1.3}, 1, 1, 1.3) == SlowdownShape::kOther);
}

TEST_CASE("slowdown shape: the same row in every step is a machine, another one in each is the data") {
  const Map first = {1.3, 1.3, 1.05, 1.06};
  const Map second = {1.06, 1.05, 1.3, 1.3};
  CHECK(slowdown_shape_over(std::vector{first, first, first, first}, 2, 2, 1.3) == SlowdownShape::kWorkers);
  CHECK(slowdown_shape_over(std::vector{first, second, first, second}, 2, 2, 1.3) ==
        SlowdownShape::kSequence);
}

TEST_CASE("slowdown shape: injected stragglers of each kind are told apart" * doctest::test_suite("slow")) {
  struct Kind {
    std::string_view name;
    SlowdownShape shape;
  };
  for (const Kind& kind :
       {Kind{"none", SlowdownShape::kNone}, Kind{"worker-fault", SlowdownShape::kWorkers},
        Kind{"slow-replica", SlowdownShape::kWorkers}, Kind{"stage-partition", SlowdownShape::kStages},
        Kind{"sequence-length", SlowdownShape::kSequence}}) {
    CAPTURE(kind.name);
    int told = 0;
    constexpr int kCases = 12;
    for (std::uint64_t seed = 0; seed < kCases; ++seed) {
      const SlowdownShape shape = shape_of_job(kind.name, seed);
      CAPTURE(seed);
      // Faint stragglers cost nothing that could be seen.
      if (shape == kind.shape || shape == SlowdownShape::kNone) ++told;
    }
    CHECK(told >= kCases - 1);
  }
}

}  // namespace goodput
