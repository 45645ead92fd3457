// The interface of an op trace format, and the list of all of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/ops/op_trace.h"
#include "traces/io/byte_source.h"
#include "traces/op/trace_intake.h"

namespace goodput {

using FileNotes = std::vector<std::string>;

struct OpTraceFormat {
  std::string_view name;                     // by which it is asked for
  std::string_view summary;                  // one line for `goodput list formats`
  std::vector<std::string_view> extensions;  // for writing, with the dot; empty: cannot be written

  // Whether a file that begins like this (64 KiB and more, decompressed, from the first character that is no
  // white space) is of this format.
  bool (*matches)(std::string_view head);

  // Adds the rows of one file, in file order. Rows without a place in their step get seq_id kUnset. Returns
  // what of the file was left out and is no finding, in a sentence each. On failure the intake is left in an
  // unspecified but valid state.
  Result<FileNotes> (*append_file)(ByteSource& source, TraceIntake& intake);

  // Writes `trace` to a file at `path` (which the caller moves into place). Gzip when `final_path` ends in
  // .gz.
  Status (*write)(const OpTrace& trace, const std::string& path, std::string_view final_path);
};

#define GOODPUT_OP_TRACE_FORMAT(name) OpTraceFormat op_trace_format_##name();
#include "traces/op/op_trace_formats.def"
#undef GOODPUT_OP_TRACE_FORMAT

// Every format, in the order in which contents are tried.
[[nodiscard]] std::span<const OpTraceFormat> op_trace_formats();

}  // namespace goodput
