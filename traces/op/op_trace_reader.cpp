#include "traces/op/op_trace_reader.h"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <utility>

#include "sim/base/registry.h"
#include "traces/io/byte_source.h"
#include "traces/io/formats.h"
#include "traces/op/ndtimeline_ids.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

// The rows from `first` on to seconds.
Status rescale(OpTrace& trace, std::size_t first, double seconds_per_unit, const OpTraceFormat& format) {
  if (seconds_per_unit == 1) return Ok{};
  if (format.name != "csv" && format.name != "parquet") {
    return Error{fmt::format("is {}, which has a unit of its own; {} is for tables (csv, parquet)",
                             format.name, kOption),
                 {},
                 "time-unit"};
  }
  for (std::size_t row = first; row < trace.size(); ++row) {
    trace.start_s[row] *= seconds_per_unit;
    trace.duration_s[row] *= seconds_per_unit;
  }
  return Ok{};
}

// Appends the rows, the format and the notes of one file.
Status append_file(const std::string& path, const OpTraceReadOptions& options,
                   const ByteSource::OnProgress& on_progress, OpTraceReading& reading) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  source.report_progress(on_progress);
  GOODPUT_TRY(const OpTraceFormat format, format_of(op_trace_formats(), "op trace", options.format, source));
  const std::size_t rows_before = reading.trace.size();
  GOODPUT_TRY(FileNotes notes, format.append_file(source, reading.trace));
  const Status rescaled = rescale(reading.trace, rows_before, options.seconds_per_unit, format);
  if (!rescaled) return rescaled.error().in_file(path);
  reading.formats.emplace_back(format.name);
  std::move(notes.begin(), notes.end(), std::back_inserter(reading.notes));
  return Ok{};
}

}  // namespace

Result<OpTraceReading> read_op_trace(const std::vector<std::string>& paths,
                                     const OpTraceReadOptions& options) {
  if (paths.empty()) return Error{"no trace file given"};
  if (!options.format.empty()) {
    GOODPUT_TRY([[maybe_unused]] const OpTraceFormat known,
                find_named(op_trace_formats(), "op trace format", options.format));
  }
  OpTraceReading reading;
  std::uint64_t read_before = 0;
  for (const std::string& path : paths) {
    const auto on_progress = [&](std::size_t bytes) {
      if (options.on_progress) options.on_progress(read_before + bytes);
    };
    GOODPUT_TRY_STATUS(append_file(path, options, on_progress, reading));
    std::error_code ignored;
    const std::uintmax_t size = std::filesystem::file_size(path, ignored);
    if (!ignored) read_before += size;
  }
  if (reading.trace.size() == 0) return Error{"holds no ops", {.file = paths.front()}};
  if (lacks_ids(reading.trace)) {
    Result<DerivedIds> derived = derive_ids(reading.trace, options.vpp_size.value_or(1));
    if (!derived) return std::move(derived).error().in_file(paths.front());
    reading.notes.push_back(derived->note());
  }
  return reading;
}

}  // namespace goodput
