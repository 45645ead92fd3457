// Reads op traces as CSV (traces/op/csv.cpp).
#pragma once

#include <string_view>

#include "sim/base/errors.h"
#include "traces/io/byte_source.h"
#include "traces/op/op_trace_format.h"

namespace goodput {

// Whether a file that begins like this is an op trace as CSV, its fields separated by commas, semicolons or
// tabs.
[[nodiscard]] bool is_op_csv(std::string_view head);

Result<FileNotes> append_op_csv(ByteSource& source, TraceIntake& intake);

}  // namespace goodput
