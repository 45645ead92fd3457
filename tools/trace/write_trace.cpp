#include "tools/trace/write_trace.h"

#include "tools/cli/named_choice.h"
#include "tools/cli/output_file.h"
#include "traces/io/byte_sink.h"
#include "traces/io/formats.h"

namespace goodput {
Result<OpTraceFormat> output_format(const std::string& path, const std::string& name) {
  if (!name.empty()) {
    Result<OpTraceFormat> format = find_writable_format(op_trace_formats(), "op trace", name);
    if (!format) return format.error().of_option("to");
    return format;
  }
  Result<OpTraceFormat> format = format_of_extension(op_trace_formats(), path);
  if (!format) return Error{format.error().what + " or give --to", format.error().where};
  return format;
}

Status write_trace(const OpTrace& trace, const OpTraceFormat& format, const std::string& path) {
  if (path == "-") return format.write(trace, std::string(kStdoutPath), path);
  return write_file_atomically(
      path, [&](const std::string& temporary) { return format.write(trace, temporary, path); });
}

}  // namespace goodput
