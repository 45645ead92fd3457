// Raw logs and Chrome arrays of jobs that were restarted: what is read is what the last runs left.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sim/base/float32.h"
#include "tests/support/trace_generator.h"
#include "tests/traces/io/temporary_file.h"
#include "tests/traces/op/random_trace.h"
#include "traces/op/op_trace_format.h"
#include "traces/op/op_trace_reader.h"

namespace goodput {
namespace {

using testing::generate_trace;
using testing::TraceSpec;
using Steps = std::vector<std::int64_t>;
using Change = std::function<void(OpRow&)>;

constexpr double kEpoch = 1'714'564'800;
constexpr double kApart = 600;  // seconds from step to step, more than any takes

enum class Format { kRawLog, kArray };
constexpr std::array kFormats = {Format::kRawLog, Format::kArray};

// Generated steps, kApart from each other on one clock.
OpTrace absolute_trace(const TraceSpec& spec) {
  OpTrace trace = generate_trace(spec);
  const std::set<std::int64_t> steps(trace.step.begin(), trace.step.end());
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const auto number = std::distance(steps.begin(), steps.find(trace.step[i]));
    trace.start_s[i] += kEpoch + kApart * static_cast<double>(number);
  }
  return trace;
}

void add(OpTrace& trace, const OpTrace& other, const Change& change = {}) {
  for (std::size_t i = 0; i < other.size(); ++i) {
    OpRow row = other.row(i);
    if (change) change(row);
    REQUIRE_FALSE(trace.append(row));
  }
}

OpTrace changed(const OpTrace& trace, const Change& change) {
  OpTrace result;
  add(result, trace, change);
  return result;
}

// The rows for which `wanted(row)`.
OpTrace filtered(const OpTrace& trace, const std::function<bool(const OpRow&)>& wanted) {
  OpTrace result;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (wanted(trace.row(i))) REQUIRE_FALSE(result.append(trace.row(i)));
  }
  return result;
}

OpTrace of_step(const OpTrace& trace, std::int64_t step) {
  return filtered(trace, [&](const OpRow& row) { return row.step == step; });
}

double length(const OpTrace& trace) {
  double first = trace.start_s[0];
  double end = first;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    first = std::min(first, trace.start_s[i]);
    end = std::max(end, trace.start_s[i] + trace.duration_s[i]);
  }
  return end - first;
}

// The first `count` rows by start, in the order of the run: what a step had recorded when it was cut.
OpTrace first_rows(const OpTrace& run, std::size_t count) {
  std::vector<std::size_t> rows(run.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::ranges::stable_sort(rows, {}, [&](std::size_t row) { return run.start_s[row]; });
  rows.resize(count);
  std::ranges::sort(rows);
  OpTrace result;
  for (const std::size_t row : rows) REQUIRE_FALSE(result.append(run.row(row)));
  return result;
}

OpTrace moved(const OpTrace& trace, double by_s, int rank_by = 0) {
  return changed(trace, [&](OpRow& row) {
    row.start_s += by_s;
    row.rank += rank_by;
  });
}

std::string array_of(const OpTrace& trace) {
  std::string text = "[\n";
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const OpRow row = trace.row(i);
    text += fmt::format(
        R"({}{{"name":"{}","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"rank":{},"step":{},"tp":0,"pp":{}}}}})",
        i > 0 ? ",\n" : "", to_string(row.optype), row.dp_rank, row.rank * 10, row.start_s * 1e6,
        row.duration_s * 1e6, row.rank, row.step, row.stage);
  }
  return text + "\n]\n";
}

Result<OpTraceReading> read_as(Format format, const OpTrace& trace, int vpp_size = 1, bool strict = false) {
  const TemporaryFile file(format == Format::kArray ? "t.json" : "t.log",
                           format == Format::kArray ? array_of(trace) : "");
  if (format == Format::kRawLog) REQUIRE(op_trace_format_raw_log().write(trace, file.path(), file.path()));
  OpTraceReadOptions options;
  options.vpp_size = vpp_size;
  options.strict = strict;
  return read_op_trace({file.path()}, options);
}

OpTraceReading reading_as(Format format, const OpTrace& trace, int vpp_size = 1) {
  auto reading = read_as(format, trace, vpp_size);
  INFO((reading ? std::string() : reading.error().message()));
  REQUIRE(reading);
  return *std::move(reading);
}

struct Found {
  CleaningRule rule;
  std::size_t count;
  Steps steps;
};

void check_found(const OpTraceReading& reading, const std::vector<Found>& want) {
  REQUIRE(reading.findings.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    CHECK(reading.findings[i].rule == want[i].rule);
    CHECK(reading.findings[i].count == want[i].count);
    CHECK(reading.findings[i].steps == want[i].steps);
  }
}

// Reads `damaged` in both formats: the rows are those of `whole`, and the origins.
void check_reads_as(const OpTrace& damaged, const OpTrace& whole, const std::vector<Found>& want,
                    int vpp_size = 1) {
  for (const Format format : kFormats) {
    CAPTURE(static_cast<int>(format));
    const OpTraceReading expected = reading_as(format, whole, vpp_size);
    const OpTraceReading reading = reading_as(format, damaged, vpp_size);
    check_equal(reading.trace, expected.trace);
    CHECK(reading.step_origin_s == expected.step_origin_s);
    check_found(reading, want);
  }
}

const std::vector<TraceSpec>& specs() {
  static const std::vector<TraceSpec> kSpecs = {
      {.steps = 4},
      {.dp = 1, .pp = 1, .steps = 4, .data_parallel_ops = false},
      {.dp = 3, .pp = 1, .micro_batches = 2, .steps = 4},
      {.dp = 1, .pp = 4, .micro_batches = 8, .steps = 4, .data_parallel_ops = false},
      {.dp = 2,
       .pp = 2,
       .vpp = 2,
       .steps = 4,
       .schedule = testing::Schedule::kInterleaved,
       .type2_noops = true},
      {.dp = 2, .pp = 2, .steps = 4, .schedule = testing::Schedule::kGPipe},
  };
  return kSpecs;
}

const std::vector<double> kCuts = {0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1};

std::size_t rows_at(const OpTrace& run, double share) {
  const auto rows = static_cast<std::size_t>(share * static_cast<double>(run.size()));
  return std::clamp(rows, std::size_t{1}, run.size());
}

TEST_CASE("runs of a step: of a first run, wherever it was cut, nothing is left") {
  for (const TraceSpec& spec : specs()) {
    const OpTrace whole = absolute_trace(spec);
    const OpTrace run = of_step(whole, 3);
    for (const double cut : kCuts) {
      CAPTURE(testing::to_string(spec));
      CAPTURE(cut);
      OpTrace damaged = first_rows(moved(run, -3 * length(run)), rows_at(run, cut));
      add(damaged, whole);
      check_reads_as(damaged, whole, {{CleaningRule::kRepeatedSteps, 1, {3}}}, spec.vpp);
    }
  }
}

TEST_CASE("runs of a step: a last run that was cut does not replace one that was complete") {
  for (const TraceSpec& spec : specs()) {
    const OpTrace whole = absolute_trace(spec);
    const OpTrace run = of_step(whole, 4);
    for (const double cut : kCuts) {
      if (cut == 1) continue;
      CAPTURE(testing::to_string(spec));
      CAPTURE(cut);
      OpTrace damaged = whole;
      add(damaged, first_rows(moved(run, 3 * length(run)), std::min(rows_at(run, cut), run.size() - 1)));
      check_reads_as(damaged, whole, {{CleaningRule::kRepeatedSteps, 1, {4}}}, spec.vpp);
    }
  }
}

TEST_CASE("runs of a step: steps run again, one of them three times, cut twice") {
  const OpTrace whole = absolute_trace(specs()[0]);
  OpTrace damaged;
  for (const std::int64_t step : {2, 3}) {
    const OpTrace run = of_step(whole, step);
    add(damaged, moved(run, -9 * length(run)));
    if (step == 3) add(damaged, first_rows(moved(run, -6 * length(run)), run.size() / 2));
    if (step == 3) add(damaged, first_rows(moved(run, -3 * length(run)), run.size() / 4));
  }
  add(damaged, whole);
  check_reads_as(damaged, whole, {{CleaningRule::kRepeatedSteps, 2, {2, 3}}});
}

TEST_CASE("runs of a step: ops that a step has once tell runs apart that followed at once") {
  const OpTrace whole = absolute_trace(specs()[0]);
  const OpTrace run = of_step(whole, 2);
  OpTrace damaged = moved(run, -length(run) - 0.005);
  add(damaged, whole);
  check_reads_as(damaged, whole, {{CleaningRule::kRepeatedSteps, 1, {2}}});
}

TEST_CASE("runs of a step: of a trace of one step, too, the last complete run is kept") {
  for (const TraceSpec& spec : specs()) {
    const OpTrace whole = of_step(absolute_trace(spec), 3);
    for (const double cut : kCuts) {
      CAPTURE(testing::to_string(spec));
      CAPTURE(cut);
      OpTrace damaged = first_rows(moved(whole, -3 * length(whole)), rows_at(whole, cut));
      add(damaged, whole);
      check_reads_as(damaged, whole, {{CleaningRule::kRepeatedSteps, 1, {3}}}, spec.vpp);
    }
  }
}

TEST_CASE("runs of a step: starts that count from each step's begin do not tell them, the step is left out") {
  const OpTrace whole = generate_trace(specs()[0]);
  OpTrace damaged = moved(of_step(whole, 3), 1e-3);
  add(damaged, whole);
  check_reads_as(damaged, filtered(whole, [](const OpRow& row) { return row.step != 3; }),
                 {{CleaningRule::kUnorderedRepeats, 1, {3}}});
}

TEST_CASE("runs of a step: where few steps are one run, overlapping ones are not left out for that") {
  const OpTrace whole = generate_trace(specs()[0]);
  OpTrace damaged = whole;
  for (const std::int64_t step : {1, 2, 3}) add(damaged, moved(of_step(whole, step), 1e-3));
  for (const Format format : kFormats) {
    const auto reading = read_as(format, damaged);
    if (!reading) continue;  // both runs as one fit no schedule
    CHECK(reading->trace.size() == damaged.size());
    CHECK(reading->findings.empty());
  }
}

TEST_CASE("runs of a step: a larger batch is none") {
  for (int micro_batches = 4; micro_batches <= 12; micro_batches += 2) {
    CAPTURE(micro_batches);
    TraceSpec spec{.dp = 1, .pp = 1, .steps = 4, .data_parallel_ops = false};
    const OpTrace small = absolute_trace(spec);
    spec.micro_batches = micro_batches;
    const OpTrace large = absolute_trace(spec);
    OpTrace trace = filtered(small, [](const OpRow& row) { return row.step != 4; });
    add(trace, of_step(large, 4));
    for (const Format format : kFormats) {
      const OpTraceReading reading = reading_as(format, trace);
      CHECK(reading.trace.size() == trace.size());
      CHECK(reading.findings.empty());
    }
  }
}

TEST_CASE("runs of a step: a step in which ops are missing is none") {
  const OpTrace whole = absolute_trace(specs()[1]);
  const OpTrace run = of_step(whole, 3);
  for (std::size_t missing = 0; missing < run.size(); ++missing) {
    CAPTURE(missing);
    std::size_t at = 0;
    const OpTrace trace = filtered(whole, [&](const OpRow& row) { return row.step != 3 || at++ != missing; });
    const OpTraceReading reading = reading_as(Format::kRawLog, trace);
    CHECK(reading.trace.size() == trace.size());
    CHECK(reading.findings.empty());
  }
}

TEST_CASE("runs of a step: a strict reading numbers them as one, as the schedule then shows") {
  const OpTrace whole = absolute_trace(specs()[0]);
  const OpTrace run = of_step(whole, 3);
  OpTrace damaged = first_rows(moved(run, -3 * length(run)), run.size() / 2);
  add(damaged, whole);
  for (const Format format : kFormats) {
    const auto reading = read_as(format, damaged, 1, true);
    REQUIRE_FALSE(reading);
    CHECK(reading.error().message().ends_with(
        "want as many of each; leave steps out that were not recorded whole"));
  }
}

TEST_CASE("runs of a step: random jobs, cut anywhere, run again on the same or on other nodes") {
  std::mt19937_64 random(20);
  int checked = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    TraceSpec spec = testing::random_spec(seed);
    if (spec.dp * spec.pp > 16) continue;
    spec.steps = std::max(spec.steps, 2);
    const OpTrace whole = absolute_trace(spec);
    if (!read_as(Format::kRawLog, whole, spec.vpp)) continue;  // exact ties in another order
    const Steps steps(whole.step.begin(), whole.step.end());
    const std::int64_t step = steps[random() % steps.size()];
    const OpTrace run = of_step(whole, step);
    const std::size_t rows = 1 + random() % run.size();
    const bool is_replaced = random() % 2 == 0;
    const bool is_first = random() % 2 == 0 || rows == run.size();
    const double by_s = (is_first ? -3 : 3) * length(run);
    CAPTURE(seed);
    CAPTURE(testing::to_string(spec));
    CAPTURE(rows);
    OpTrace damaged = first_rows(moved(run, by_s, is_replaced ? 1000 : 0), rows);
    add(damaged, whole);
    const OpTraceReading expected = reading_as(Format::kRawLog, whole, spec.vpp);
    const OpTraceReading reading = reading_as(Format::kRawLog, damaged, spec.vpp);
    check_equal(reading.trace, expected.trace);
    REQUIRE_FALSE(reading.findings.empty());
    CHECK(reading.findings[0].steps == Steps{step});
    ++checked;
  }
  CHECK(checked >= 200);
}

TEST_CASE(
    "runs of a step: however short the pause, what is kept is the whole run, or the step stays as it is") {
  std::mt19937_64 random(21);
  int resolved = 0;
  int left = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    TraceSpec spec = testing::random_spec(seed);
    if (spec.dp * spec.pp > 16) continue;
    spec.steps = std::max(spec.steps, 3);
    const OpTrace whole = absolute_trace(spec);
    if (!read_as(Format::kRawLog, whole, spec.vpp)) continue;
    const OpTrace run = of_step(whole, whole.step[random() % whole.size()]);
    const std::size_t rows = 1 + random() % run.size();
    const OpTrace first = first_rows(run, rows);
    const double pause = length(run) * static_cast<double>(random() % 100 + 1) / 1000;
    OpTrace damaged = moved(first, -length(first) - pause);
    add(damaged, whole);
    CAPTURE(seed);
    CAPTURE(testing::to_string(spec));
    CAPTURE(rows);
    CAPTURE(pause);
    const auto reading = read_as(Format::kRawLog, damaged, spec.vpp);
    if (!reading) continue;  // no whole step is left
    const bool is_resolved = !reading->findings.empty();
    (is_resolved ? resolved : left) += 1;
    if (is_resolved && reading->findings[0].rule == CleaningRule::kRepeatedSteps)
      check_equal(reading->trace, reading_as(Format::kRawLog, whole, spec.vpp).trace);
    if (!is_resolved) CHECK(reading->trace.size() == damaged.size());
  }
  CHECK(resolved > left);
}

TEST_CASE("copies of rows: a file given twice, or files that overlap in a step or a worker, are read once") {
  for (const TraceSpec& spec : specs()) {
    const OpTrace whole = absolute_trace(spec);
    for (const int times : {1, 2}) {
      OpTrace damaged = whole;
      for (int i = 0; i < times; ++i) add(damaged, whole);
      const auto copies = static_cast<std::size_t>(times) * whole.size();
      check_reads_as(damaged, whole, {{CleaningRule::kRepeatedRows, copies, {1, 2, 3, 4}}}, spec.vpp);
    }
    const OpTrace step = of_step(whole, 2);
    OpTrace damaged = whole;
    add(damaged, step);
    check_reads_as(damaged, whole, {{CleaningRule::kRepeatedRows, step.size(), {2}}}, spec.vpp);
    const OpTrace worker = filtered(step, [&](const OpRow& row) { return row.rank == step.rank[0]; });
    damaged = whole;
    add(damaged, worker);
    check_reads_as(damaged, whole, {{CleaningRule::kRepeatedRows, worker.size(), {2}}}, spec.vpp);
  }
}

TEST_CASE("copies of rows: those of a step that was run again do not hide its runs") {
  const OpTrace whole = absolute_trace(specs()[0]);
  const OpTrace run = of_step(whole, 3);
  OpTrace damaged = moved(run, -3 * length(run));
  const std::size_t copies = damaged.size() + run.size();
  add(damaged, OpTrace(damaged));
  add(damaged, whole);
  add(damaged, run);
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
      add(damaged, now);
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
    for (const int peer : {1, 2, 3}) add(result, moved(trace, 1e-6 * peer, peer));
    return result;
  };
  check_reads_as(with_peers(whole), whole, {});
  OpTrace damaged = with_peers(first_rows(moved(run, -3 * length(run)), run.size() / 2));
  add(damaged, with_peers(whole));
  check_reads_as(damaged, whole, {{CleaningRule::kRepeatedSteps, 1, {3}}});
}

TEST_CASE("ranks of a worker: of peers stays who recorded the most steps") {
  const OpTrace whole = absolute_trace({.steps = 4, .rank_gap = 4});
  OpTrace trace = filtered(whole, [](const OpRow& row) { return row.step > 2 || row.rank != 0; });
  add(trace, filtered(moved(whole, 0, 1), [](const OpRow& row) { return row.rank == 1; }));
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
