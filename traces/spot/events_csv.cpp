// Neutral spot events: `t_s,event,node`, event is add or remove, t_s seconds from the start of the recording.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "traces/io/byte_sink.h"
#include "traces/io/csv_lines.h"
#include "traces/spot/spot_columns.h"
#include "traces/spot/spot_event_rows.h"
#include "traces/spot/spot_fields.h"
#include "traces/spot/spot_format.h"

namespace goodput {
namespace {

constexpr std::array<std::string_view, 3> kEventColumns = {kSpotTimeColumn, "event", "node"};
constexpr SpotEventRows::TimeColumn kEventTime = {kSpotTimeColumn, std::chrono::seconds{1}};

// Also a header with another first column, which is then named as unknown.
bool is_events_csv(std::string_view head) {
  const auto names = spot_header(head);
  const auto has = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return has("event") && (has("node") || has(kSpotTimeColumn));
}

Result<std::vector<std::size_t>> parse_events_header(std::string_view line) {
  GOODPUT_TRY(auto columns, parse_spot_header(line, kEventColumns));
  if (columns.size() != kEventColumns.size()) return Error{"expected the columns t_s, event and node"};
  return columns;
}

Result<SpotContent> read_events_csv(ByteSource& source, const SpotOptions& options) {
  GOODPUT_TRY_STATUS(refuse_preempted(options, source.path()));
  SpotEventRows rows;
  std::vector<std::size_t> columns;
  const auto take = [&](std::string_view line, std::size_t number) -> Status {
    if (columns.empty()) {
      GOODPUT_TRY(columns, parse_events_header(line));
      return Ok{};
    }
    if (line.empty()) return Ok{};
    std::array<std::string_view, kEventColumns.size()> fields;
    GOODPUT_TRY_STATUS(split_spot_row(line, columns, fields));
    return rows.add({fields[0], fields[1], fields[2]}, kEventTime, number);
  };
  GOODPUT_TRY_STATUS(for_each_line(source, kSpotBlockBytes, take));
  return std::move(rows).finish(source.path());
}

// A comma in a name makes quotes necessary; names have no quotes.
void append_name(std::string& text, std::string_view name) {
  const bool needs_quotes = name.find(',') != std::string_view::npos;
  if (needs_quotes) text += '"';
  text += name;
  if (needs_quotes) text += '"';
}

Status write_events_csv(const SpotTrace& trace, const std::string& path, std::string_view final_path) {
  if (!trace.has_names()) {
    return Error{
        "has only counts of nodes, not their names, and cannot be written as events_csv; write counts_csv",
        {.file = trace.file}};
  }
  GOODPUT_TRY(ByteSink file, ByteSink::open(path, final_path));
  std::string text = fmt::format("{}\n", fmt::join(kEventColumns, ","));
  for (const NodeEvent& event : trace.events) {
    append_spot_seconds(text, event.time);
    text += event.kind == NodeEvent::Kind::kAdd ? ",add," : ",remove,";
    append_name(text, trace.node_names[static_cast<std::size_t>(event.node)]);
    text += '\n';
    GOODPUT_TRY_STATUS(file.write_if_full(text, kCsvBlockBytes));
  }
  GOODPUT_TRY_STATUS(file.write(text));
  return file.close();
}

}  // namespace

SpotFormat spot_format_events_csv() {
  return {.name = "events_csv",
          .summary = "spot nodes: t_s,event,node with one row per node that joins (add) or leaves (remove)",
          .extensions = {".csv", ".csv.gz"},
          .matches = is_events_csv,
          .read = read_events_csv,
          .write = write_events_csv};
}

}  // namespace goodput
