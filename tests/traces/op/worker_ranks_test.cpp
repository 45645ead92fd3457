// Files without ids that hold workers under several ranks, or rows several times; origins of their steps.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/traces/op/restarted_job.h"

namespace goodput {
namespace {

using namespace restarted;

TEST_CASE("copies of rows: a file given twice, or files that overlap in a step or a worker, are read once") {
  for (const TraceSpec& spec : specs()) {
    const OpTrace whole = absolute_trace(spec);
    for (const int times : {1, 2}) {
      OpTrace damaged = whole;
      for (int i = 0; i < times; ++i) add_rows(damaged, whole);
      const auto copies = static_cast<std::size_t>(times) * whole.size();
      check_reads_as(damaged, whole, {{CleaningRule::kRepeatedRows, copies, {1, 2, 3, 4}}}, spec.vpp);
    }
    const OpTrace step = of_step(whole, 2);
    OpTrace damaged = whole;
    add_rows(damaged, step);
    check_reads_as(damaged, whole, {{CleaningRule::kRepeatedRows, step.size(), {2}}}, spec.vpp);
    const OpTrace worker = filtered(step, [&](const OpRow& row) { return row.rank == step.rank[0]; });
    damaged = whole;
    add_rows(damaged, worker);
    check_reads_as(damaged, whole, {{CleaningRule::kRepeatedRows, worker.size(), {2}}}, spec.vpp);
  }
}

TEST_CASE("copies of rows: those of a step that was run again do not hide its runs") {
  const OpTrace whole = absolute_trace(specs()[0]);
  const OpTrace run = of_step(whole, 3);
  OpTrace damaged = moved(run, -3 * length(run));
  const std::size_t copies = damaged.size() + run.size();
  add_rows(damaged, OpTrace(damaged));
  add_rows(damaged, whole);
  add_rows(damaged, run);
  check_reads_as(damaged, whole,
                 {{CleaningRule::kRepeatedRows, copies, {3}}, {CleaningRule::kRepeatedSteps, 1, {3}}});
}

TEST_CASE("copies of rows: ops that are alike are none") {
  OpTrace whole = absolute_trace({.steps = 2, .dp_buckets_per_chunk = 2});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole.optype[i] != OpType::kParamsAllGather) continue;
    whole.start_s[i] = kEpoch + kApart * static_cast<double>(whole.step[i] - 1);
    whole.duration_s[i] = 0.5;
  }
  const OpTraceReading reading = reading_as(Format::kRawLog, whole);
  CHECK(reading.trace.size() == whole.size());
  CHECK(reading.findings.empty());
}

TEST_CASE("ranks of a worker: a node replaced between steps keeps what it recorded") {
  const OpTrace whole = absolute_trace(specs()[0]);
  const std::int32_t replaced = whole.rank[0];
  const OpTrace trace = changed(whole, [&](OpRow& row) {
    if (row.rank == replaced && row.step < 3) row.rank += 100;
  });
  for (const Format format : kFormats) {
    const OpTraceReading reading = reading_as(format, trace);
    CHECK(reading.trace.rank == trace.rank);
    CHECK(reading.findings.empty());  // two ranks are left: who looks at them counts them
    CHECK(reading.notes.back().find("tensor-parallel") == std::string::npos);
  }
}

TEST_CASE("ranks of a worker: a node replaced in a step run again is that of the last complete run") {
  const OpTrace whole = absolute_trace(specs()[0]);
  const OpTrace run = of_step(whole, 3);
  const std::int32_t replaced = whole.rank[0];
  for (const std::int32_t by : {-1, 100}) {
    for (const double cut : kCuts) {
      CAPTURE(cut);
      const Change former = [&](OpRow& row) {
        if (row.rank == replaced) row.rank += 50 + by;
      };
      const OpTrace now = changed(whole, [&](OpRow& row) {
        if (row.rank == replaced) row.rank += 50;
      });
      OpTrace damaged = first_rows(changed(moved(run, -3 * length(run)), former), rows_at(run, cut));
      const bool had_begun = std::ranges::find(damaged.rank, replaced + 50 + by) != damaged.rank.end();
      add_rows(damaged, now);
      std::vector<Found> want = {{CleaningRule::kRepeatedSteps, 1, {3}}};
      if (had_begun) want.push_back({CleaningRule::kReplacedWorkers, 1, {3}});
      check_reads_as(damaged, now, want);
    }
  }
}

TEST_CASE("ranks of a worker: tensor-parallel peers are left out, of steps run again, too") {
  const OpTrace whole = absolute_trace({.steps = 4, .rank_gap = 4});
  const OpTrace run = of_step(whole, 3);
  const auto with_peers = [](const OpTrace& trace) {
    OpTrace result = trace;
    for (const int peer : {1, 2, 3}) add_rows(result, moved(trace, 1e-6 * peer, peer));
    return result;
  };
  check_reads_as(with_peers(whole), whole, {});
  OpTrace damaged = with_peers(first_rows(moved(run, -3 * length(run)), run.size() / 2));
  add_rows(damaged, with_peers(whole));
  check_reads_as(damaged, whole, {{CleaningRule::kRepeatedSteps, 1, {3}}});
}

TEST_CASE("ranks of a worker: of peers stays who recorded the most steps") {
  const OpTrace whole = absolute_trace({.steps = 4, .rank_gap = 4});
  OpTrace trace = filtered(whole, [](const OpRow& row) { return row.step > 2 || row.rank != 0; });
  add_rows(trace, filtered(moved(whole, 0, 1), [](const OpRow& row) { return row.rank == 1; }));
  const OpTraceReading reading = reading_as(Format::kRawLog, trace);
  CHECK(reading.trace.size() == whole.size());
  CHECK(std::ranges::find(reading.trace.rank, 0) == reading.trace.rank.end());
  CHECK(std::ranges::find(reading.trace.rank, 1) != reading.trace.rank.end());
}

TEST_CASE("origins: what was subtracted gives the starts back, and files with ids have none") {
  const OpTrace whole = absolute_trace(specs()[0]);
  const OpTraceReading reading = reading_as(Format::kRawLog, whole);
  REQUIRE(reading.step_origin_s.size() == 4);
  CHECK(reading.step_origin_s.at(1) == doctest::Approx(kEpoch).epsilon(1e-9));
  CHECK(reading.step_origin_s.at(4) - reading.step_origin_s.at(1) ==
        doctest::Approx(3 * kApart).epsilon(1e-4));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const double start = reading.step_origin_s.at(whole.step[i]) + reading.trace.start_s[i];
    CHECK(start - whole.start_s[i] == doctest::Approx(0).epsilon(1e-6));
  }
  const TemporaryFile file("t.csv", "");
  REQUIRE(op_trace_format_csv().write(generate_trace(specs()[0]), file.path(), file.path()));
  const auto table = read_op_trace({file.path()}, {});
  REQUIRE(table);
  CHECK(table->step_origin_s.empty());
}

}  // namespace
}  // namespace goodput
