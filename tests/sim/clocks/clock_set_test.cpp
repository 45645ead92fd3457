// Clocks that are set inside a step.
#include "sim/clocks/clock_set.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/clocks/clocks.h"
#include "sim/recording/step_removal.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/trace_generator.h"

namespace goodput {
namespace {

using testing::AnalysedTrace;

// Ten steps of 2 replicas x 3 stages with noise of 2 %.
testing::TraceSpec three_stages() {
  testing::TraceSpec job;
  job.dp = 2;
  job.pp = 3;
  job.micro_batches = 8;
  job.steps = 10;
  return job;
}

// The clock of a worker is set by `by_s` when half of the starts of step `at` are over.
OpTrace set_inside(OpTrace rows, int dp_rank, int stage, std::int64_t at, double by_s) {
  std::vector<double> starts;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows.step[row] == at) starts.push_back(rows.start_s[row]);
  }
  std::nth_element(starts.begin(), starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2),
                   starts.end());
  const double middle = starts[starts.size() / 2];
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const bool later = rows.step[row] > at || (rows.step[row] == at && rows.start_s[row] >= middle);
    if (later && rows.dp_rank[row] == dp_rank && rows.stage[row] == stage) rows.start_s[row] += by_s;
  }
  return rows;
}

std::vector<DifferenceChange> changes_of(const AnalysedTrace& trace) {
  return find_changes_inside_steps(trace.recording, trace.graph);
}

}  // namespace

TEST_CASE(
    "clock set: the step, the clock and by how much, forward and back, in the first step and the last") {
  for (const double by_s : {0.05, -0.05, 0.5, -0.5, 2.0, -2.0}) {
    const auto rows = generate_trace(three_stages());
    const AnalysedTrace right = testing::analysed(rows);
    for (const std::size_t at : {std::size_t{0}, std::size_t{4}, std::size_t{9}}) {
      CAPTURE(by_s);
      CAPTURE(at);
      const AnalysedTrace trace = testing::analysed(set_inside(rows, 1, 1, right.recording.steps[at], by_s));
      const std::vector<DifferenceChange> changes = changes_of(trace);
      REQUIRE(changes.size() == 2);  // with the stages before and after
      for (const DifferenceChange& change : changes) CHECK(change.step == at);
      const ClockEstimate clocks = estimate_clocks(trace.recording, trace.graph);
      const ClockSet set = explain_changes(changes, trace.recording, clocks.clock_of_worker);
      CHECK(clocks.clocks[set.clock].name == "rank 3");  // stage 1 has ranks 2 and 3
      CHECK_FALSE(set.other);
      CHECK(std::abs(set.by_s - by_s) < 2e-3);
    }
  }
}

TEST_CASE("clock set: between two clocks alone nothing tells which one") {
  testing::TraceSpec job = three_stages();
  job.dp = 1;
  job.pp = 2;
  job.data_parallel_ops = false;
  const auto rows = generate_trace(job);
  const std::int64_t step = testing::analysed(rows).recording.steps[3];
  const AnalysedTrace trace = testing::analysed(set_inside(rows, 0, 1, step, 0.5));
  const std::vector<DifferenceChange> changes = changes_of(trace);
  REQUIRE(changes.size() == 1);
  const std::vector<std::uint32_t> clocks = {0, 1};
  const ClockSet set = explain_changes(changes, trace.recording, clocks);
  CHECK(set.clock == 0);
  REQUIRE(set.other);
  CHECK(*set.other == 1);
}

TEST_CASE("clock set: nothing in right clocks, constant offsets, and sets between steps") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    testing::TraceSpec job = three_stages();
    job.seed = seed;
    CAPTURE(to_string(job));
    OpTrace rows = generate_trace(job);
    CHECK(changes_of(testing::analysed(rows)).empty());
    for (std::size_t row = 0; row < rows.size(); ++row)
      rows.start_s[row] += rows.stage[row] == 1 && rows.step[row] > 4 ? 0.5 : 0.0;
    CHECK(changes_of(testing::analysed(rows)).empty());
  }
}

TEST_CASE(
    "clock set: a change of one step that does not stay is one only if it is large and all messages agree") {
  // Starts that each step counts from its own begin do not show in the next step what was set in this one.
  const auto only_in_step_5 = [](double by_s) {
    OpTrace rows = set_inside(generate_trace(three_stages()), 0, 1, 5, by_s);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rows.step[row] > 5 && rows.dp_rank[row] == 0 && rows.stage[row] == 1) rows.start_s[row] -= by_s;
    }
    return changes_of(testing::analysed(std::move(rows)));
  };
  CHECK(only_in_step_5(0.015).empty());
  const auto changes = only_in_step_5(0.5);
  REQUIRE_FALSE(changes.empty());
  for (const DifferenceChange& change : changes) CHECK(change.step == 4);  // the index of step 5
}

TEST_CASE("clock set: a clock set back by the length of a step is seen by the order of its ops") {
  // Workers that exchange no messages. The passes before the set come after the optimizer by this clock, and
  // the step is as long as any other.
  testing::TraceSpec job = three_stages();
  job.pp = 1;
  const OpTrace rows = generate_trace(job);
  CHECK(find_ops_out_of_order(testing::analysed(rows).recording).empty());
  const AnalysedTrace right = testing::analysed(rows);
  const StepBlock& block = right.recording.blocks.front();
  const double step_s = *std::max_element(block.end_s.begin(), block.end_s.end());
  const auto sets = find_ops_out_of_order(
      testing::analysed(set_inside(rows, 1, 0, right.recording.steps[4], -step_s)).recording);
  REQUIRE_FALSE(sets.empty());
  CHECK(sets.front().step == 4);
  CHECK(sets.front().set.clock == 1);
}

TEST_CASE("step removal: what stays is the recording of the steps that stay") {
  // 300 steps of 2 replicas are blocks of 128, 128 and 44; the second goes whole, of the others some.
  testing::TraceSpec job = three_stages();
  job.micro_batches = 3;
  job.steps = 300;
  const auto rows = generate_trace(job);
  AnalysedTrace some = testing::analysed(rows);
  some.recording.subtracted_s.assign(300, 0);
  for (std::size_t step = 0; step < 300; ++step)
    some.recording.subtracted_s[step] = static_cast<double>(step);
  std::vector<std::size_t> out;
  std::vector<std::uint32_t> kept;
  for (std::uint32_t step = 0; step < 300; ++step) {
    if ((step >= 128 && step < 256) || step % 7 == 0) {
      out.push_back(step);
    } else {
      kept.push_back(step);
    }
  }
  leave_out_steps(some.recording, out);
  const AnalysedTrace wanted = testing::analysed(rows, kept);
  CHECK(some.recording.steps == wanted.recording.steps);
  CHECK(some.recording.step_base_s == wanted.recording.step_base_s);
  CHECK(some.recording.step_origin_s == wanted.recording.step_origin_s);
  REQUIRE(some.recording.subtracted_s.size() == kept.size());
  CHECK(some.recording.subtracted_s.back() == kept.back());
  CHECK(some.recording.blocks.size() == 2);
  const auto slowdown = [](const AnalysedTrace& trace) {
    return testing::value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse()).slowdown;
  };
  CHECK(slowdown(some) == doctest::Approx(slowdown(wanted)).epsilon(1e-12));
}

}  // namespace goodput
