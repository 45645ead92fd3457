// Chrome traces of training ops: NDTimeline's, and our own with every column of a row in the events' args.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/ops/op_trace.h"
#include "traces/io/byte_source.h"
#include "traces/io/json_windows.h"

namespace goodput {

struct ChromeReading {
  std::size_t ops = 0;              // rows appended
  std::size_t not_ops = 0;          // events of another phase than "X"
  std::size_t ignored_metrics = 0;  // events of metrics that are no ops of a step
};

// Appends the rows of one file, in memory of a few windows besides the rows.
// On failure `trace` is left in an unspecified but valid state.
Result<ChromeReading> append_chrome_events(ByteSource& source, OpTrace& trace,
                                           const JsonWindowLimits& limits = {});

// Writes one event a row, in order. Gzip when `final_path` ends in .gz.
Status write_chrome_events(const OpTrace& trace, const std::string& path, std::string_view final_path);

}  // namespace goodput
