// Chrome traces of training ops: NDTimeline's, and our own with every column of a row in the events' args.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/ops/op_trace.h"
#include "traces/io/byte_source.h"
#include "traces/io/json_windows.h"
#include "traces/op/trace_intake.h"

namespace goodput {

struct ChromeReading {
  std::size_t ops = 0;              // rows
  std::size_t not_ops = 0;          // events of a phase that has no duration
  std::size_t early_ends = 0;       // events that end ops which have not begun
  std::size_t ignored_metrics = 0;  // events of metrics that are no ops of a step
};

// Adds the rows of one file, in memory of a few windows and of the events that wait for their ends besides
// the rows. An op is one event of phase "X", or a pair of "B" and "E" or of "b" and "e": its row comes with
// its end. On failure the intake is left in an unspecified but valid state.
Result<ChromeReading> append_chrome_events(ByteSource& source, TraceIntake& intake,
                                           const JsonWindowLimits& limits = {});

// Writes one event a row, in order. Gzip when `final_path` ends in .gz.
Status write_chrome_events(const OpTrace& trace, const std::string& path, std::string_view final_path);

}  // namespace goodput
