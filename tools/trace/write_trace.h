// Op traces to files: the format from a name or an extension.
#pragma once

#include <string>

#include "sim/base/errors.h"
#include "sim/ops/op_trace.h"
#include "traces/op/op_trace_format.h"

namespace goodput {

// The format called `name` (--to), or where that is empty the one of `path`'s extension. Fails on formats
// that cannot be written.
Result<OpTraceFormat> output_format(const std::string& path, const std::string& name);

// Whole or not at all; `-`: stdout.
Status write_trace(const OpTrace& trace, const OpTraceFormat& format, const std::string& path);

}  // namespace goodput
