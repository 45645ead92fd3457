#include "traces/op/op_trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "sim/base/text.h"
#include "traces/io/byte_source.h"
#include "traces/op/ndtimeline_ids.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

using Formats = std::vector<OpTraceFormat>;

std::string names_of(const Formats& formats) {
  std::string names;
  for (const OpTraceFormat& format : formats) names.append(names.empty() ? "" : ", ").append(format.name);
  return names;
}

Result<const OpTraceFormat*> find_format(const Formats& formats, std::string_view name) {
  std::vector<std::string_view> known;
  for (const OpTraceFormat& format : formats) {
    if (format.name == name) return &format;
    known.push_back(format.name);
  }
  return Error{fmt::format("unknown format {}{}; known: {}", in_quotes(name), did_you_mean(name, known),
                           names_of(formats))};
}

Result<const OpTraceFormat*> detect_format(const Formats& formats, ByteSource& source) {
  constexpr std::size_t kShownBytes = 24;
  GOODPUT_TRY(const std::string_view head, source.peek());
  if (head.empty()) return Error{"is empty", {.file = source.path()}};
  for (const OpTraceFormat& format : formats) {
    if (format.matches(head)) return &format;
  }
  return Error{fmt::format("is no op trace in a known format ({}); it begins with {}", names_of(formats),
                           in_quotes(head.substr(0, std::min(head.find('\n'), kShownBytes)))),
               {.file = source.path()}};
}

// Appends the rows, the format and the notes of one file.
Status append_file(const Formats& formats, const std::string& path, const std::string& format_name,
                   const ByteSource::OnProgress& on_progress, OpTraceReading& reading) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  source.report_progress(on_progress);
  GOODPUT_TRY(const OpTraceFormat* format,
              format_name.empty() ? detect_format(formats, source) : find_format(formats, format_name));
  GOODPUT_TRY(FileNotes notes, format->append_file(source, reading.trace));
  reading.formats.emplace_back(format->name);
  std::move(notes.begin(), notes.end(), std::back_inserter(reading.notes));
  return Ok{};
}

}  // namespace

Result<OpTraceReading> read_op_trace(const std::vector<std::string>& paths,
                                     const OpTraceReadOptions& options) {
  if (paths.empty()) return Error{"no trace file given"};
  const Formats formats = op_trace_formats();
  if (!options.format.empty()) {
    GOODPUT_TRY([[maybe_unused]] const OpTraceFormat* known, find_format(formats, options.format));
  }
  OpTraceReading reading;
  std::uint64_t read_before = 0;
  for (const std::string& path : paths) {
    const auto on_progress = [&](std::size_t bytes) {
      if (options.on_progress) options.on_progress(read_before + bytes);
    };
    GOODPUT_TRY_STATUS(append_file(formats, path, options.format, on_progress, reading));
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
