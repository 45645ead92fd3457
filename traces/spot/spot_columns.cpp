#include "traces/spot/spot_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/base/text.h"
#include "traces/io/csv_lines.h"

namespace goodput {

std::vector<std::string_view> spot_header(std::string_view head) {
  head = without_byte_order_mark(head);
  const std::string_view line = without_line_end(head.substr(0, std::min(head.find('\n'), head.size())));
  return split_csv(line).value_or(std::vector<std::string_view>{});
}

Result<std::vector<std::size_t>> parse_spot_header(std::string_view line,
                                                   std::span<const std::string_view> known) {
  const auto names = split_csv(without_byte_order_mark(line));
  if (!names) return Error{std::string(kUnclosedQuote)};
  std::vector<std::size_t> columns;
  for (const std::string_view name : *names) {
    const auto found = std::find(known.begin(), known.end(), name);
    const auto place = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) {
      return Error{fmt::format("unknown column {}{}; known: {}", in_quotes(name), did_you_mean(name, known),
                               fmt::join(known, ", "))};
    }
    if (std::find(columns.begin(), columns.end(), place) != columns.end())
      return Error{fmt::format("column {} occurs twice", in_quotes(name))};
    columns.push_back(place);
  }
  return columns;
}

Status split_spot_row(std::string_view line, std::span<const std::size_t> columns,
                      std::span<std::string_view> fields) {
  CsvFields left(line);
  std::size_t taken = 0;
  for (; !left.exhausted(); ++taken) {
    const auto field = left.take();
    if (!field) return Error{std::string(kUnclosedQuote)};
    if (taken < columns.size()) fields[columns[taken]] = *field;
  }
  if (taken == columns.size()) return Ok{};
  return Error{fmt::format("has {} field{}, but must have {}", taken, taken == 1 ? "" : "s", columns.size())};
}

}  // namespace goodput
