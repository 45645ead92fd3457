// release-too: the numbers that users get.
// S of recordings with wrong clocks, aligned, against S of the same recording with right ones.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "sim/clocks/clocks.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/clock_skew.h"
#include "tests/support/published_case.h"
#include "tests/support/random_cases.h"
#include "tests/support/synthetic_case.h"
#include "traces/op/op_trace_reader.h"

namespace goodput {
namespace {

using testing::AnalysedTrace;
using testing::SkewKind;

constexpr double kRestored = 1e-3;
constexpr double kUntouched = 1e-4;
constexpr double kSkews[] = {0.05, 0.5, 2};

double slowdown(const AnalysedTrace& trace) {
  return testing::value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse()).slowdown;
}

// As whatif does it by default.
void align(AnalysedTrace& trace) {
  const ClockEstimate clocks = estimate_clocks(trace.recording, trace.graph);
  if (clocks.needs_aligning)
    shift_clocks(trace.recording, trace.graph, clock_shifts(clocks, trace.recording));
}

double aligned_slowdown(OpTrace rows) {
  AnalysedTrace trace = testing::analysed(std::move(rows));
  align(trace);
  return slowdown(trace);
}

// The relative change of S that is left, the worst of all skews of a size, and of drifts of 50 ppm.
struct Restored {
  double by_offset[std::size(kSkews)] = {};
  double by_drift = 0;
};

Restored restore(const OpTrace& rows, std::uint64_t seed, double step_s) {
  const AnalysedTrace clean = testing::analysed(rows);
  const double truth = slowdown(clean);
  const auto off = [truth](double s) { return std::abs(s / truth - 1); };
  const std::vector<std::int64_t>& steps = clean.recording.steps;
  Restored restored;
  for (std::size_t i = 0; i < std::size(kSkews); ++i) {
    for (const SkewKind kind : testing::kSkewKinds) {
      const auto error = testing::random_error(kind, kSkews[i], steps[steps.size() / 2], seed);
      restored.by_offset[i] =
          std::max(restored.by_offset[i], off(aligned_slowdown(testing::skewed(rows, error))));
    }
  }
  restored.by_drift =
      off(aligned_slowdown(testing::drifting(rows, 1e4, step_s, [](std::int32_t dp_rank, std::int16_t stage) {
        return (dp_rank + stage) % 2 == 0 ? 50e-6 : -50e-6;
      })));
  return restored;
}

void check(const std::string& name, const Restored& restored) {
  MESSAGE(name << fmt::format(": 50 ms {:.1e}, 0.5 s {:.1e}, 2 s {:.1e}, 50 ppm {:.1e}",
                              restored.by_offset[0], restored.by_offset[1], restored.by_offset[2],
                              restored.by_drift));
  for (const double off : restored.by_offset) CHECK(off < kRestored);
  CHECK(restored.by_drift < kRestored);
}

void check_published(const std::string& name, double step_s) {
  const auto folder = testing::published_case(name);
  if (folder.empty()) return;
  const OpTrace rows = testing::value_or_throw(read_op_trace({(folder / "trace.csv.gz").string()}, {})).trace;
  check(name, restore(rows, 1, step_s));

  const AnalysedTrace clean = testing::analysed(rows);
  const ClockEstimate clocks = estimate_clocks(clean.recording, clean.graph);
  MESSAGE(name << fmt::format(": clean clocks within {:.3f} ms", 1e3 * clocks.largest_s));
  CHECK_FALSE(clocks.needs_aligning);
  CHECK(clocks.conflicts.empty());
  CHECK(clocks.largest_s < 1e-3);
}

// Jobs with any of the stragglers at once.
testing::SyntheticCase random_job(std::uint64_t seed, std::int32_t least_dp) {
  RandomStream random(seed, "stragglers");
  std::vector<std::string_view> kinds;
  for (const std::string_view kind : kStragglerKinds) {
    if (random.below(3) == 0) kinds.push_back(kind);
  }
  return testing::random_case(seed, kinds, least_dp);
}

}  // namespace

TEST_CASE("clocks: S of the slow worker's trace is restored under every skew" *
          doctest::test_suite("release-only")) {
  check_published("AR", 60);
}
TEST_CASE("clocks: S of the long last stage's trace is restored under every skew") {
  check_published("ST", 4);
}

TEST_CASE("clocks: S of generated traces is restored under every skew" *
          doctest::test_suite("release-only")) {
  Restored worst;
  for (std::uint64_t seed = 1; seed <= testing::cases(60); ++seed) {
    const testing::SyntheticCase job = random_job(seed, 1);
    CAPTURE(job.name());
    const Restored restored = restore(job.synthesize(Truth::kSlowdown).rows, seed, 30);
    for (std::size_t i = 0; i < std::size(kSkews); ++i) {
      CHECK(restored.by_offset[i] < kRestored);
      worst.by_offset[i] = std::max(worst.by_offset[i], restored.by_offset[i]);
    }
    CHECK(restored.by_drift < kRestored);
    worst.by_drift = std::max(worst.by_drift, restored.by_drift);
  }
  check("the worst of the generated traces", worst);
}

TEST_CASE("clocks: traces with stragglers of every kind and right clocks are left alone" *
          doctest::test_suite("release-only")) {
  double largest = 0;
  for (std::uint64_t seed = 1001; seed <= 1200; ++seed) {
    const testing::SyntheticCase job = random_job(seed, 1);
    CAPTURE(job.name());
    AnalysedTrace trace = testing::analysed(job.synthesize(Truth::kSlowdown).rows);
    const ClockEstimate clocks = estimate_clocks(trace.recording, trace.graph);
    CHECK_FALSE(clocks.needs_aligning);
    CHECK(clocks.conflicts.empty());
    CHECK(clocks.largest_s < kClockWorthAligningS);
    largest = std::max(largest, clocks.largest_s);
    const double before = slowdown(trace);
    align(trace);
    CHECK(std::abs(slowdown(trace) / before - 1) < kUntouched);
  }
  MESSAGE("200 generated traces: clocks within " << 1e3 * largest << " ms");
}

}  // namespace goodput
