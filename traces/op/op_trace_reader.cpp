#include "traces/op/op_trace_reader.h"

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

// Appends the rows, the format and the notes of one file.
Status append_file(const std::string& path, const std::string& format_name,
                   const ByteSource::OnProgress& on_progress, OpTraceReading& reading) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  source.report_progress(on_progress);
  GOODPUT_TRY(const OpTraceFormat format, format_of(op_trace_formats(), "op trace", format_name, source));
  GOODPUT_TRY(FileNotes notes, format.append_file(source, reading.trace));
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
    GOODPUT_TRY_STATUS(append_file(path, options.format, on_progress, reading));
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
