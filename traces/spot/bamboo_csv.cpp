// Spot events as Bamboo and Oobleck publish them: `ms,add|remove,node` without a header, lines ended by LF or
// CRLF. Times count from the start of the recording.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "traces/io/csv_lines.h"
#include "traces/spot/spot_columns.h"
#include "traces/spot/spot_event_rows.h"
#include "traces/spot/spot_fields.h"
#include "traces/spot/spot_format.h"

namespace goodput {
namespace {

constexpr std::array<std::size_t, 3> kBambooColumns = {0, 1, 2};
constexpr SpotEventRows::TimeColumn kBambooTime = {"milliseconds", std::chrono::milliseconds{1}};

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const auto is_part = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_part);
}

// Also with a misspelt event, which is then named.
bool is_bamboo_csv(std::string_view head) {
  const auto fields = spot_header(head);
  if (fields.size() < 2) return false;
  if (fields[1] == "add" || fields[1] == "remove") return true;
  return fields.size() == 3 && is_number(fields[0]) && !is_number(fields[2]);
}

Result<SpotContent> read_bamboo_csv(ByteSource& source, const SpotOptions& options) {
  GOODPUT_TRY_STATUS(refuse_preempted(options, source.path()));
  SpotEventRows rows;
  const auto take = [&](std::string_view line, std::size_t number) -> Status {
    if (number == 1) line = without_byte_order_mark(line);
    if (line.empty()) return Ok{};
    std::array<std::string_view, kBambooColumns.size()> fields;
    GOODPUT_TRY_STATUS(split_spot_row(line, kBambooColumns, fields));
    return rows.add({fields[0], fields[1], fields[2]}, kBambooTime, number);
  };
  GOODPUT_TRY_STATUS(for_each_line(source, kSpotBlockBytes, take));
  return std::move(rows).finish(source.path());
}

}  // namespace

SpotFormat spot_format_bamboo_csv() {
  return {.name = "bamboo_csv",
          .summary = "spot nodes: milliseconds,add|remove,node without a header, as from Bamboo and Oobleck",
          .extensions = {},
          .matches = is_bamboo_csv,
          .read = read_bamboo_csv,
          .write = nullptr};
}

}  // namespace goodput
