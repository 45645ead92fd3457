#include "tools/trace/write_trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "sim/base/text.h"
#include "tools/cli/output_file.h"
#include "traces/io/byte_sink.h"

namespace goodput {
namespace {

Result<OpTraceFormat> find_output_format(const std::string& name) {
  std::vector<std::string_view> writable;
  const std::vector<OpTraceFormat> formats = op_trace_formats();
  for (const OpTraceFormat& format : formats) {
    if (format.write == nullptr) continue;
    if (format.name == name) return format;
    writable.push_back(format.name);
  }
  return Error{fmt::format("--to: cannot write format {}{}; can write {}", in_quotes(name),
                           did_you_mean(name, writable), fmt::join(writable, ", "))};
}

Result<OpTraceFormat> format_of_extension(const std::string& path) {
  std::vector<std::string_view> extensions;
  for (const OpTraceFormat& format : op_trace_formats()) {
    for (const std::string_view extension : format.extensions) {
      if (format.write != nullptr && path.ends_with(extension)) return format;
      extensions.push_back(extension);
    }
  }
  return Error{fmt::format("cannot tell the output format from the name; end it in one of {} or give --to",
                           fmt::join(extensions, ", ")),
               {.file = path}};
}

}  // namespace

Result<OpTraceFormat> output_format(const std::string& path, const std::string& name) {
  return name.empty() ? format_of_extension(path) : find_output_format(name);
}

Status write_trace(const OpTrace& trace, const OpTraceFormat& format, const std::string& path) {
  if (path == "-") return format.write(trace, std::string(kStdoutPath), path);
  return write_file_atomically(
      path, [&](const std::string& temporary) { return format.write(trace, temporary, path); });
}

}  // namespace goodput
