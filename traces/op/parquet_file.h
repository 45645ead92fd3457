// Op traces in Parquet files. Declared always, defined only when built with Parquet (GOODPUT_HAVE_PARQUET).
#pragma once

#include <string>

#include "sim/base/errors.h"
#include "sim/ops/op_trace.h"
#include "traces/op/op_trace_format.h"

namespace goodput {

// Adds the rows of the Parquet file at `path`, or of one that is in memory and whose place is `path`. Columns
// may be integers of any width (whole floats or doubles too), float or double, plain or dictionary strings,
// in any order; other columns are ignored. Memory beyond the rows: a few pages of one column.
Result<FileNotes> append_parquet_file(const std::string& path, TraceIntake& intake);
Result<FileNotes> append_parquet_bytes(std::string bytes, const std::string& path, TraceIntake& intake);

// Writes `trace` with the narrowest integers that NDTimeline uses and that hold the values, a dictionary of
// op types and float32 times when all are float32. The same bytes for the same trace.
Status write_parquet_file(const OpTrace& trace, const std::string& path);

}  // namespace goodput
