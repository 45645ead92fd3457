// Generated jobs whose steps were run again, written as files without ids and read back.
#pragma once

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

namespace goodput::restarted {

using testing::generate_trace;
using testing::TraceSpec;
using Steps = std::vector<std::int64_t>;
using Change = std::function<void(OpRow&)>;

inline constexpr double kEpoch = 1'714'564'800;
inline constexpr double kApart = 600;  // seconds from step to step, more than any takes

enum class Format { kRawLog, kArray };
inline constexpr std::array kFormats = {Format::kRawLog, Format::kArray};

// Generated steps, kApart from each other on one clock.
inline OpTrace absolute_trace(const TraceSpec& spec) {
  OpTrace trace = generate_trace(spec);
  const std::set<std::int64_t> steps(trace.step.begin(), trace.step.end());
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const auto number = std::distance(steps.begin(), steps.find(trace.step[i]));
    trace.start_s[i] += kEpoch + kApart * static_cast<double>(number);
  }
  return trace;
}

inline void add_rows(OpTrace& trace, const OpTrace& other, const Change& change = {}) {
  for (std::size_t i = 0; i < other.size(); ++i) {
    OpRow row = other.row(i);
    if (change) change(row);
    REQUIRE_FALSE(trace.append(row));
  }
}

inline OpTrace changed(const OpTrace& trace, const Change& change) {
  OpTrace result;
  add_rows(result, trace, change);
  return result;
}

// The rows for which `wanted(row)`.
inline OpTrace filtered(const OpTrace& trace, const std::function<bool(const OpRow&)>& wanted) {
  OpTrace result;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (wanted(trace.row(i))) REQUIRE_FALSE(result.append(trace.row(i)));
  }
  return result;
}

inline OpTrace of_step(const OpTrace& trace, std::int64_t step) {
  return filtered(trace, [&](const OpRow& row) { return row.step == step; });
}

inline double length(const OpTrace& trace) {
  double first = trace.start_s[0];
  double end = first;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    first = std::min(first, trace.start_s[i]);
    end = std::max(end, trace.start_s[i] + trace.duration_s[i]);
  }
  return end - first;
}

// The first `count` rows by start, in the order of the run: what a step had recorded when it was cut.
inline OpTrace first_rows(const OpTrace& run, std::size_t count) {
  std::vector<std::size_t> rows(run.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::ranges::stable_sort(rows, {}, [&](std::size_t row) { return run.start_s[row]; });
  rows.resize(count);
  std::ranges::sort(rows);
  OpTrace result;
  for (const std::size_t row : rows) REQUIRE_FALSE(result.append(run.row(row)));
  return result;
}

inline OpTrace moved(const OpTrace& trace, double by_s, int rank_by = 0) {
  return changed(trace, [&](OpRow& row) {
    row.start_s += by_s;
    row.rank += rank_by;
  });
}

inline std::string array_of(const OpTrace& trace) {
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

inline Result<OpTraceReading> read_as(Format format, const OpTrace& trace, int vpp_size = 1,
                                      bool strict = false) {
  const TemporaryFile file(format == Format::kArray ? "t.json" : "t.log",
                           format == Format::kArray ? array_of(trace) : "");
  if (format == Format::kRawLog) REQUIRE(op_trace_format_raw_log().write(trace, file.path(), file.path()));
  OpTraceReadOptions options;
  options.vpp_size = vpp_size;
  options.strict = strict;
  return read_op_trace({file.path()}, options);
}

inline OpTraceReading reading_as(Format format, const OpTrace& trace, int vpp_size = 1) {
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

inline void check_found(const OpTraceReading& reading, const std::vector<Found>& want) {
  REQUIRE(reading.findings.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    CHECK(reading.findings[i].rule == want[i].rule);
    CHECK(reading.findings[i].count == want[i].count);
    CHECK(reading.findings[i].steps == want[i].steps);
  }
}

// Reads `damaged` in both formats: the rows are those of `whole`, and the origins.
inline void check_reads_as(const OpTrace& damaged, const OpTrace& whole, const std::vector<Found>& want,
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

inline const std::vector<TraceSpec>& specs() {
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

inline const std::vector<double> kCuts = {0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1};

inline std::size_t rows_at(const OpTrace& run, double share) {
  const auto rows = static_cast<std::size_t>(share * static_cast<double>(run.size()));
  return std::clamp(rows, std::size_t{1}, run.size());
}

}  // namespace goodput::restarted
