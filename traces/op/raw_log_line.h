// One line of NDTimeline's raw log: the ops of one metric on one worker since the last flush.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "traces/op/trace_intake.h"

namespace goodput {

struct RawLogRecord {
  std::string metric;
  std::vector<double> durations_s;
  std::vector<double> starts_s;
  std::vector<std::int64_t> steps;  // one an op
  std::int64_t rank = 0;
  std::int64_t dp_rank = 0;
  std::int64_t stage = 0;
  std::string host;                   // its ip; empty where there is none
  StatedSizes sizes;                  // of the job
  bool keeps_negative_steps = false;  // a step of kNegativeStepKey is one of the trace
};

// The key under which our own converter writes a negative step into a tag. NDTimeline counts the ops before
// the first step as negative steps, under its own keys; its tools and our reader drop those.
inline constexpr std::string_view kNegativeStepKey = "negative_step";

// The record in a log line, without the date before it. Nothing for lines of other loggers.
[[nodiscard]] std::optional<std::string_view> find_raw_log_record(std::string_view line);

// The metric's name at the start of a record: all that is needed to skip it.
[[nodiscard]] std::string_view metric_of_record(std::string_view record);

// The Error has no `where`.
Result<RawLogRecord> parse_raw_log_record(std::string_view record);

// Of a record of which the end is missing, perhaps with another record behind it in the line.
struct CutRecord {
  std::vector<std::int64_t> steps;  // that it names as far as it goes, ascending, each once
  std::string_view behind;          // the other record; empty: none
};

// Whether another record begins in this one: what reads as one may be the beginning of one and the end of the
// other.
[[nodiscard]] bool holds_another_record(std::string_view record);

// Nothing when the end is there.
[[nodiscard]] std::optional<CutRecord> find_cut(std::string_view record);

}  // namespace goodput
