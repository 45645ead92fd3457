#include "traces/routing/routing_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/text.h"
#include "traces/io/byte_source.h"
#include "traces/routing/routing_format.h"
#include "traces/routing/routing_rows.h"

namespace goodput {
namespace {

Result<const RoutingFormat*> detect_format(const std::vector<RoutingFormat>& formats, ByteSource& source) {
  constexpr std::size_t kShownBytes = 24;
  GOODPUT_TRY(const std::string_view head, source.peek());
  if (head.empty()) return Error{"is empty", {.file = source.path()}};
  std::string known;
  for (const RoutingFormat& format : formats) {
    if (format.matches(head)) return &format;
    known.append(known.empty() ? "" : ", ").append(format.name);
  }
  return Error{
      fmt::format("is no routing trace in a known format ({}; say `goodput list formats`); it begins with {}",
                  known, in_quotes(head.substr(0, std::min(head.find('\n'), kShownBytes)))),
      {.file = source.path()}};
}

}  // namespace

Result<RoutingReading> read_routing_files(const std::vector<std::string>& paths) {
  if (paths.empty()) return Error{"no routing trace given"};
  const std::vector<RoutingFormat> formats = routing_formats();
  const RoutingFormat* first = nullptr;
  RoutingRows rows;
  for (const std::string& path : paths) {
    GOODPUT_TRY(ByteSource source, ByteSource::open(path));
    GOODPUT_TRY(const RoutingFormat* format, detect_format(formats, source));
    if (first == nullptr) first = format;
    if (format != first) {
      return Error{fmt::format("is {}, but {} is {}; files of one trace have one format", format->name,
                               paths.front(), first->name),
                   {.file = path}};
    }
    rows.begin_file(path);
    GOODPUT_TRY_STATUS(format->append_file(source, rows));
  }
  GOODPUT_TRY(RoutingReading reading, std::move(rows).finish());
  reading.format = first->name;
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
