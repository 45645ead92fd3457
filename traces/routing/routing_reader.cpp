#include "traces/routing/routing_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "traces/io/byte_source.h"
#include "traces/io/formats.h"
#include "traces/routing/routing_format.h"
#include "traces/routing/routing_rows.h"

namespace goodput {
namespace {

Result<std::vector<std::string>> logs_in(const std::string& folder) {
  std::vector<std::string> logs;
  std::error_code failed;
  std::filesystem::directory_iterator entry(folder, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("table_iter") && (name.ends_with(".log") || name.ends_with(".log.gz")))
      logs.push_back(entry->path().string());
  }
  if (failed) return Error{fmt::format("cannot be listed: {}", failed.message()), {.file = folder}};
  std::sort(logs.begin(), logs.end());
  if (!logs.empty()) return logs;
  return Error{"has no files table_iter<I>_rank<R>.log; give the folder with the logs of one iteration",
               {.file = folder}};
}

}  // namespace

Result<RoutingReading> read_routing_files(const std::vector<std::string>& paths, FirstRows first_rows) {
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
  GOODPUT_TRY(RoutingReading reading, std::move(rows).finish(first_rows));
  reading.format = first;
  return reading;
}

Result<RankFolder> read_rank_folder(const std::string& folder) {
  RankFolder read;
  GOODPUT_TRY(read.files, logs_in(folder));
  GOODPUT_TRY(RoutingReading reading, read_routing_files(read.files, FirstRows::kKeep));
  const std::vector<std::int64_t>& iterations = reading.trace.iterations();
  if (iterations.size() > 1) {
    return Error{fmt::format("has logs of {} iterations, from {} to {}; keep those of one", iterations.size(),
                             iterations.front(), iterations.back()),
                 {.file = folder}};
  }
  if (reading.ranks == 1)
    return Error{"has the log of one rank; at least two are needed to see how ranks differ",
                 {.file = folder}};
  read.rows = std::move(reading.first);
  return read;
}

Result<RoutingTrace> read_routing_trace(const std::vector<std::string>& paths) {
  GOODPUT_TRY(RoutingReading reading, read_routing_files(paths));
  return std::move(reading.trace);
}

Result<RoutingTrace> read_routing_trace(const std::string& path) {
  return read_routing_trace(std::vector<std::string>{path});
}

}  // namespace goodput
