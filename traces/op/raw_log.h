// NDTimeline's raw log: lines of ops, among lines of other loggers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "traces/io/byte_source.h"
#include "traces/op/trace_intake.h"

namespace goodput {

struct RawLogReading {
  std::size_t ops = 0;              // rows appended
  std::size_t foreign_lines = 0;    // lines of other loggers, blank ones not counted
  std::size_t ignored_metrics = 0;  // lines of metrics that are no ops of a step
  std::size_t before_training =
      0;  // ops of a negative step of NDTimeline's, which its own tools drop as well
};

// Adds the rows of one line without its end, and the host of its rank. What is wrong with the line, if
// anything; rows of it may be there all the same. A cut record is left out, unless strict.
[[nodiscard]] std::optional<std::string> append_raw_log_line(std::string_view line, const Position& at,
                                                             TraceIntake& intake, RawLogReading& reading);

// Adds the rows of one file, and the hosts of ranks. On failure the intake is left in an unspecified but
// valid state.
Result<RawLogReading> append_raw_log(ByteSource& source, TraceIntake& intake);

}  // namespace goodput
