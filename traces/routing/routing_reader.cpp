#include "traces/routing/routing_reader.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "traces/io/byte_source.h"
#include "traces/io/formats.h"
#include "traces/routing/routing_format.h"
#include "traces/routing/routing_rows.h"

namespace goodput {
Result<RoutingReading> read_routing_files(const std::vector<std::string>& paths) {
  if (paths.empty()) return Error{"no routing trace given"};
  std::string_view first;
  RoutingRows rows;
  for (const std::string& path : paths) {
    GOODPUT_TRY(ByteSource source, ByteSource::open(path));
    GOODPUT_TRY(const RoutingFormat format, format_of(routing_formats(), "routing trace", {}, source));
    if (first.empty()) first = format.name;
    if (format.name != first) {
      return Error{
          fmt::format("has format {}, but {} has format {}; all files of a trace must have the same format",
                      format.name, paths.front(), first),
          {.file = path}};
    }
    rows.begin_file(path);
    GOODPUT_TRY_STATUS(format.append_file(source, rows));
  }
  GOODPUT_TRY(RoutingReading reading, std::move(rows).finish());
  reading.format = first;
  return reading;
}

Result<RoutingTrace> read_routing_trace(const std::vector<std::string>& paths) {
  GOODPUT_TRY(RoutingReading reading, read_routing_files(paths));
  return std::move(reading.trace);
}

Result<RoutingTrace> read_routing_trace(const std::string& path) {
  return read_routing_trace(std::vector<std::string>{path});
}

}  // namespace goodput
