// Clocks of generated recordings: what is put in comes out.
#include "sim/clocks/clocks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/random.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/clock_skew.h"
#include "tests/support/trace_generator.h"

namespace goodput {
namespace {

using testing::AnalysedTrace;
using testing::TraceSpec;

// Twelve steps of 4 replicas x 4 stages; messages of 0.5 ms and collectives of 15 and 30 ms, which vary by 2
// %: ends of a collective differ by some 0.6 ms, the medians of 24 of them by 0.2 ms.
constexpr double kClockNoiseS = 1e-3;
TraceSpec spec() {
  TraceSpec job;
  job.dp = 4;
  job.pp = 4;
  job.micro_batches = 8;
  job.steps = 12;
  return job;
}

ClockEstimate estimate(const AnalysedTrace& trace) {
  return estimate_clocks(trace.recording, trace.graph);
}
ClockEstimate estimate(OpTrace rows) {
  return estimate(testing::analysed(std::move(rows)));
}

std::size_t worker_at(int dp_rank, int stage) {
  return static_cast<std::size_t>(dp_rank * 4 + stage);
}

}  // namespace

TEST_CASE("clocks: random offsets of all workers come out, up to what they have in common") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TraceSpec job = spec();
    job.seed = seed;
    RandomStream random(seed, "shape");
    job.dp = 1 + static_cast<int>(random.below(5));
    job.pp = job.dp == 1 ? 3 : 1 + static_cast<int>(random.below(5));
    job.data_parallel_ops = job.dp > 1;
    CAPTURE(to_string(job));
    const auto error = testing::random_error(testing::SkewKind::kWorker, 2, 0, seed);
    const ClockEstimate found = estimate(testing::skewed(generate_trace(job), error));
    CHECK(found.needs_aligning);
    CHECK(found.conflicts.empty());
    const auto truth = [&](std::size_t worker) {
      const auto stages = static_cast<std::size_t>(job.pp);
      return error(static_cast<int>(worker / stages), static_cast<std::int16_t>(worker % stages), 1);
    };
    double worst = 0;
    for (std::size_t worker = 0; worker < found.clocks.size(); ++worker) {
      const double shown = found.clocks[worker].offset_s - found.clocks[0].offset_s;
      worst = std::max(worst, std::abs(shown - (truth(worker) - truth(0))));
    }
    CHECK(worst < kClockNoiseS);
  }
}

TEST_CASE("clocks: of most clocks that agree the reference is one, also where the first worker's is wrong") {
  const ClockEstimate found = estimate(testing::skewed(
      generate_trace(spec()), [](int dp, int stage, std::int64_t) { return dp + stage == 0 ? 0.5 : 0.0; }));
  CHECK(std::abs(found.clocks[0].offset_s - 0.5) < kClockNoiseS);
  for (std::size_t clock = 1; clock < found.clocks.size(); ++clock)
    CHECK(std::abs(found.clocks[clock].offset_s) < kClockNoiseS);
  CHECK(found.clocks[0].name == "rank 0");
  CHECK_FALSE(found.clocks[0].drift);  // step-relative times
}

TEST_CASE("clocks: workers of a host have one clock, by its name") {
  const auto by_replica = [](int dp, int, std::int64_t) { return dp == 2 ? -0.05 : 0.0; };
  AnalysedTrace trace = testing::analysed(testing::skewed(generate_trace(spec()), by_replica));
  Recording::PlaceKind hosts{"host", {}};
  for (std::size_t worker = 0; worker < 16; ++worker)
    hosts.of_worker.push_back("node-" + std::to_string(worker / 4));
  trace.recording.places = {hosts};
  const ClockEstimate found = estimate(trace);
  REQUIRE(found.clocks.size() == 4);
  CHECK(found.clocks[2].name == "node-2");
  CHECK(std::abs(found.clocks[2].offset_s + 0.05) < kClockNoiseS);
  CHECK(found.conflicts.empty());
}

TEST_CASE("clocks: pairs that no offsets explain are named, first those said to share a clock") {
  // Stages 0 and 1 of replica 1 are said to share a host, but stage 1's clock is 80 ms late.
  const auto wrong = [](int dp, int stage, std::int64_t) { return dp == 1 && stage == 1 ? -0.08 : 0.0; };
  AnalysedTrace trace = testing::analysed(testing::skewed(generate_trace(spec()), wrong));
  Recording::PlaceKind hosts{"host", std::vector<std::string>(16)};
  hosts.of_worker[worker_at(1, 0)] = hosts.of_worker[worker_at(1, 1)] = "shared";
  trace.recording.places = {hosts};
  const ClockEstimate found = estimate(trace);
  REQUIRE_FALSE(found.conflicts.empty());
  const ClockConflict& worst = found.conflicts.front();
  CHECK(worst.worker == worker_at(1, 0));
  REQUIRE(worst.other);
  CHECK(*worst.other == worker_at(1, 1));
  CHECK(std::abs(worst.apart_s - 0.08) < kClockNoiseS);
}

TEST_CASE("clocks: a jump is dated, before and after it every offset is its own") {
  for (const int at : {2, 7, 12}) {
    CAPTURE(at);
    const ClockEstimate found =
        estimate(testing::skewed(generate_trace(spec()), [at](int dp, int stage, std::int64_t step) {
          return dp == 3 && stage == 2 && step >= at ? 0.05 : 0.0;
        }));
    for (std::size_t clock = 0; clock < found.clocks.size(); ++clock)
      CHECK(found.clocks[clock].jumps.size() == (clock == worker_at(3, 2) ? 1 : 0));
    const ClockJump& jump = found.clocks[worker_at(3, 2)].jumps.at(0);
    CHECK(jump.step == at);
    CHECK(std::abs(jump.from_s) < kClockNoiseS);
    CHECK(std::abs(jump.to_s - 0.05) < kClockNoiseS);
  }
}

TEST_CASE("clocks: a jump of the first clock, which all are compared with at first, is its own") {
  const ClockEstimate found =
      estimate(testing::skewed(generate_trace(spec()), [](int dp, int stage, std::int64_t step) {
        return dp + stage == 0 && step >= 6 ? -1.0 : 0.0;
      }));
  for (std::size_t clock = 0; clock < found.clocks.size(); ++clock)
    CHECK(found.clocks[clock].jumps.size() == (clock == 0 ? 1 : 0));
}

TEST_CASE("clocks: on absolute times drifts are found, of epoch seconds too") {
  // Steps 60 s apart for 11 minutes: 0.2 ms of noise are some 0.3 ppm.
  for (const double origin : {0.0, 1.7e9}) {
    const ClockEstimate found =
        estimate(testing::drifting(generate_trace(spec()), origin, 60,
                                   [](int dp, int stage) { return dp == 1 && stage < 2 ? 50e-6 : 0.0; }));
    CHECK(found.is_absolute);
    for (std::size_t clock = 0; clock < found.clocks.size(); ++clock) {
      REQUIRE(found.clocks[clock].drift);
      const double truth = clock == worker_at(1, 0) || clock == worker_at(1, 1) ? 50e-6 : 0.0;
      CHECK(std::abs(*found.clocks[clock].drift - truth) < 2e-6);
      CHECK(found.clocks[clock].jumps.empty());
    }
    CHECK(found.needs_aligning);
  }
}

TEST_CASE("clocks: a drift is worth aligning where offsets stay below 5 ms, if it is sure and 5 ppm") {
  // 12 steps 6 s apart: 50 ppm are 3.3 ms after 66 s, 3 ppm 0.2 ms.
  const auto found = [](double drift) {
    return estimate(testing::drifting(generate_trace(spec()), 1000, 6, [drift](int dp, int stage) {
      return dp == 1 && stage == 2 ? drift : 0.0;
    }));
  };
  const ClockEstimate fast = found(50e-6);
  CHECK(fast.largest_s < kClockWorthAligningS);
  CHECK(fast.needs_aligning);
  for (std::size_t clock = 0; clock < fast.clocks.size(); ++clock)
    CHECK(fast.clocks[clock].is_drifting == (clock == worker_at(1, 2)));
  CHECK(std::abs(*fast.clocks[worker_at(1, 2)].drift - 50e-6) < 15e-6);
  for (const double little : {0.0, 3e-6}) CHECK_FALSE(found(little).needs_aligning);
}

TEST_CASE("clocks: drifts of right clocks are 0 or below what is worth aligning, however few the steps") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    TraceSpec job = spec();
    job.seed = seed;
    job.steps = 2 + static_cast<int>(seed % 9);
    CAPTURE(to_string(job));
    const ClockEstimate found =
        estimate(testing::drifting(generate_trace(job), 1000, 5, [](int, int) { return 0.0; }));
    CHECK(found.is_absolute);
    CHECK_FALSE(found.needs_aligning);
    for (const Clock& clock : found.clocks) {
      if (job.steps < 5) CHECK(*clock.drift == 0);
    }
  }
}

TEST_CASE("clocks: of times that a reader moved to zero drifts are found, too, when it says how far") {
  OpTrace rows = testing::drifting(generate_trace(spec()), 1.7e9, 60,
                                   [](int dp, int stage) { return dp == 1 && stage < 2 ? 50e-6 : 0.0; });
  std::map<std::int64_t, double> first;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto [at, is_new] = first.try_emplace(rows.step[row], rows.start_s[row]);
    at->second = std::min(at->second, rows.start_s[row]);
  }
  for (std::size_t row = 0; row < rows.size(); ++row) rows.start_s[row] -= first[rows.step[row]];
  AnalysedTrace trace = testing::analysed(std::move(rows));
  CHECK_FALSE(estimate(trace).is_absolute);
  for (const auto& [step, start] : first) trace.recording.subtracted_s.push_back(start);
  const ClockEstimate found = estimate(trace);
  CHECK(found.is_absolute);
  REQUIRE(found.clocks[worker_at(1, 0)].drift);
  CHECK(std::abs(*found.clocks[worker_at(1, 0)].drift - 50e-6) < 2e-6);
}

TEST_CASE("clocks: one worker alone has nothing to be compared with") {
  TraceSpec job = spec();
  job.dp = job.pp = 1;
  job.data_parallel_ops = false;
  const ClockEstimate found = estimate(generate_trace(job));
  REQUIRE(found.clocks.size() == 1);
  CHECK(found.clocks[0].offset_s == 0);
  CHECK_FALSE(found.needs_aligning);
}

}  // namespace goodput
