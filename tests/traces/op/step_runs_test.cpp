// Raw logs and Chrome arrays of jobs that were restarted: what is read is what the last runs left.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/support/random_cases.h"
#include "tests/traces/op/restarted_job.h"

namespace goodput {
namespace {

using namespace restarted;

TEST_CASE("runs of a step: of a first run, wherever it was cut, nothing is left") {
  for (const TraceSpec& spec : specs()) {
    const OpTrace whole = absolute_trace(spec);
    const OpTrace run = of_step(whole, 3);
    for (const double cut : kCuts) {
      CAPTURE(testing::to_string(spec));
      CAPTURE(cut);
      OpTrace damaged = first_rows(moved(run, -3 * length(run)), rows_at(run, cut));
      add_rows(damaged, whole);
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
      add_rows(damaged, first_rows(moved(run, 3 * length(run)), std::min(rows_at(run, cut), run.size() - 1)));
      check_reads_as(damaged, whole, {{CleaningRule::kRepeatedSteps, 1, {4}}}, spec.vpp);
    }
  }
}

TEST_CASE("runs of a step: steps run again, one of them three times, cut twice") {
  const OpTrace whole = absolute_trace(specs()[0]);
  OpTrace damaged;
  for (const std::int64_t step : {2, 3}) {
    const OpTrace run = of_step(whole, step);
    add_rows(damaged, moved(run, -9 * length(run)));
    if (step == 3) add_rows(damaged, first_rows(moved(run, -6 * length(run)), run.size() / 2));
    if (step == 3) add_rows(damaged, first_rows(moved(run, -3 * length(run)), run.size() / 4));
  }
  add_rows(damaged, whole);
  check_reads_as(damaged, whole, {{CleaningRule::kRepeatedSteps, 2, {2, 3}}});
}

TEST_CASE("runs of a step: ops that a step has once tell runs apart that followed at once") {
  const OpTrace whole = absolute_trace(specs()[0]);
  const OpTrace run = of_step(whole, 2);
  OpTrace damaged = moved(run, -length(run) - 0.005);
  add_rows(damaged, whole);
  check_reads_as(damaged, whole, {{CleaningRule::kRepeatedSteps, 1, {2}}});
}

TEST_CASE("runs of a step: of a trace of one step, too, the last complete run is kept") {
  for (const TraceSpec& spec : specs()) {
    const OpTrace whole = of_step(absolute_trace(spec), 3);
    for (const double cut : kCuts) {
      CAPTURE(testing::to_string(spec));
      CAPTURE(cut);
      OpTrace damaged = first_rows(moved(whole, -3 * length(whole)), rows_at(whole, cut));
      add_rows(damaged, whole);
      check_reads_as(damaged, whole, {{CleaningRule::kRepeatedSteps, 1, {3}}}, spec.vpp);
    }
  }
}

TEST_CASE("runs of a step: starts that count from each step's begin do not tell them, the step is left out") {
  const OpTrace whole = generate_trace(specs()[0]);
  OpTrace damaged = moved(of_step(whole, 3), 1e-3);
  add_rows(damaged, whole);
  check_reads_as(damaged, filtered(whole, [](const OpRow& row) { return row.step != 3; }),
                 {{CleaningRule::kUnorderedRepeats, 1, {3}}});
}

TEST_CASE("runs of a step: where few steps are one run, overlapping ones are not left out for that") {
  const OpTrace whole = generate_trace(specs()[0]);
  OpTrace damaged = whole;
  for (const std::int64_t step : {1, 2, 3}) add_rows(damaged, moved(of_step(whole, step), 1e-3));
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
    add_rows(trace, of_step(large, 4));
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
  add_rows(damaged, whole);
  for (const Format format : kFormats) {
    const auto reading = read_as(format, damaged, 1, true);
    REQUIRE_FALSE(reading);
    CHECK(reading.error().message().ends_with(
        "which must be the same number; remove incompletely recorded steps"));
  }
}

TEST_CASE("runs of a step: random jobs, cut anywhere, run again on the same or on other nodes" *
          doctest::test_suite("slow")) {
  std::mt19937_64 random(20);
  int checked = 0;
  for (std::uint64_t seed = 1; seed <= testing::cases(300); ++seed) {
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
    add_rows(damaged, whole);
    const OpTraceReading expected = reading_as(Format::kRawLog, whole, spec.vpp);
    const OpTraceReading reading = reading_as(Format::kRawLog, damaged, spec.vpp);
    check_equal(reading.trace, expected.trace);
    REQUIRE_FALSE(reading.findings.empty());
    CHECK(reading.findings[0].steps == Steps{step});
    ++checked;
  }
  CHECK(checked >= static_cast<int>(testing::cases(200)));
}

TEST_CASE(
    "runs of a step: however short the pause, what is kept is the whole run, or the step stays as it is" *
    doctest::test_suite("slow")) {
  std::mt19937_64 random(21);
  int resolved = 0;
  int left = 0;
  for (std::uint64_t seed = 1; seed <= testing::cases(300); ++seed) {
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
    add_rows(damaged, whole);
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

}  // namespace
}  // namespace goodput
