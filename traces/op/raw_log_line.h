// One line of NDTimeline's raw log: the ops of one metric on one worker since the last flush.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

struct RawLogRecord {
  std::string metric;
  std::vector<double> durations_s;
  std::vector<double> starts_s;
  std::vector<std::int64_t> steps;  // one an op
  std::int64_t rank = 0;
  std::int64_t dp_rank = 0;
  std::int64_t stage = 0;
};

// The record in a log line, without the date before it. Nothing for lines of other loggers.
[[nodiscard]] std::optional<std::string_view> find_raw_log_record(std::string_view line);

// The metric's name at the start of a record: all that is needed to skip it.
[[nodiscard]] std::string_view metric_of_record(std::string_view record);

// The Error has no `where`.
Result<RawLogRecord> parse_raw_log_record(std::string_view record);

}  // namespace goodput
