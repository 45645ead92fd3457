#include "traces/faults/log_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/text.h"
#include "traces/faults/json_rows.h"
#include "traces/io/csv_lines.h"
#include "traces/io/formats.h"

namespace goodput {
namespace {

constexpr std::size_t kMostLogBytes = std::size_t{1} << 30;

std::string_view trimmed_field(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// "----- ---" below the names of columns of fixed width.
bool is_rule(std::string_view line) {
  line = trimmed_field(line);
  return line.starts_with("--") && line.find_first_not_of("- ") == std::string_view::npos;
}

// Where the columns below a rule begin and end.
struct Extent {
  std::size_t begin = 0, end = 0;
};
std::vector<Extent> extents_of(std::string_view rule) {
  std::vector<Extent> extents;
  for (std::size_t at = 0; at < rule.size();) {
    const std::size_t begin = rule.find('-', at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(rule.find_first_not_of('-', begin), rule.size());
    extents.push_back({begin, end});
    at = end;
  }
  return extents;
}

std::vector<std::string> cut_line(std::string_view line, const std::vector<Extent>& extents) {
  std::vector<std::string> fields;
  for (const Extent& extent : extents) {
    const std::size_t begin = std::min(extent.begin, line.size());
    fields.emplace_back(trimmed_field(line.substr(begin, extent.end - extent.begin)));
  }
  return fields;
}

// The separator of a header: the one that occurs most often.
char separator_of_header(std::string_view header) {
  constexpr std::string_view kSeparators = "|\t;,";
  const auto count = [header](char c) { return std::count(header.begin(), header.end(), c); };
  return *std::max_element(kSeparators.begin(), kSeparators.end(),
                           [&](char a, char b) { return count(a) < count(b); });
}

std::optional<std::vector<std::string>> separated_line(std::string_view line, char separator) {
  std::vector<std::string> fields;
  if (separator == '|') {  // Slurm quotes nothing
    for (const std::string_view field : split(line, separator)) fields.emplace_back(trimmed_field(field));
    return fields;
  }
  const auto parts = split_csv(line, separator);
  if (!parts) return std::nullopt;
  for (const std::string_view part : *parts) {
    std::string field(trimmed_field(part));
    for (std::size_t at = field.find("\"\""); at != std::string::npos; at = field.find("\"\"", at + 1))
      field.erase(at, 1);
    fields.push_back(std::move(field));
  }
  return fields;
}

// Slurm does not quote the commas of n[001-057,059] either.
void join_brackets(std::vector<std::string>& fields) {
  std::vector<std::string> joined;
  std::ptrdiff_t depth = 0;
  for (std::string& field : fields) {
    const std::ptrdiff_t opened =
        std::count(field.begin(), field.end(), '[') - std::count(field.begin(), field.end(), ']');
    if (depth > 0)
      joined.back() += "," + field;
    else
      joined.push_back(std::move(field));
    depth = std::max<std::ptrdiff_t>(0, depth + opened);
  }
  fields = std::move(joined);
}

// Slurm does not quote a bar in free text: what is beyond the columns belongs to the reason or the name of
// the job.
void join_surplus(const std::vector<std::string>& columns, std::vector<std::string>& fields) {
  const auto is_free = [](const std::string& name) {
    return equals_lower("reason", name) || equals_lower("jobname", name);
  };
  const auto free = std::find_if(columns.begin(), columns.end(), is_free);
  if (free == columns.end() || fields.size() <= columns.size()) return;
  const auto into = fields.begin() + (free - columns.begin());
  const auto end = into + 1 + static_cast<std::ptrdiff_t>(fields.size() - columns.size());
  for (auto part = into + 1; part != end; ++part) *into += "|" + *part;
  fields.erase(into + 1, end);
}

struct Line {
  std::string_view text;
  std::size_t number = 0;
};

// Before the header: a shell prompt that was pasted along, or "sep=;" of a spreadsheet.
bool is_preamble(std::string_view line) {
  return line.starts_with("$ ") || (line.starts_with("sep=") && line.size() <= 5);
}

// Without blank lines, comments and what comes before the header.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = without_line_end(line);
    const std::string_view content = trimmed_field(line);
    if (content.empty() || content.front() == '#' || (lines.empty() && is_preamble(content))) continue;
    lines.push_back({line, number});
  }
  return lines;
}

Result<LogTable> table_of_lines(const std::vector<Line>& lines, const std::string& file) {
  LogTable table{.file = file};
  const auto at = [&](const Line& line, std::string what) {
    return Error{std::move(what), {.file = file, .position = Position::line(line.number)}};
  };
  if (lines.empty()) return table.error("has no header and no rows");
  table.is_fixed_width = lines.size() > 1 && is_rule(lines[1].text);
  std::vector<Extent> extents;
  char separator = ',';
  if (table.is_fixed_width) {
    extents = extents_of(lines[1].text);
    table.columns = cut_line(lines[0].text, extents);
  } else {
    separator = separator_of_header(lines[0].text);
    if (lines[0].text.find(separator) == std::string_view::npos &&
        lines[0].text.find("  ") != std::string_view::npos)
      return at(lines[0],
                "has columns of fixed width without the line of dashes below their names; print it with -P");
    auto columns = separated_line(lines[0].text, separator);
    if (!columns) return at(lines[0], std::string(kUnclosedQuote));
    table.columns = *std::move(columns);
  }
  for (std::size_t i = table.is_fixed_width ? 2 : 1; i < lines.size(); ++i) {
    LogTable::Row row{.line = lines[i].number};
    if (table.is_fixed_width) {
      row.fields = cut_line(lines[i].text, extents);
    } else {
      auto fields = separated_line(lines[i].text, separator);
      if (!fields) return at(lines[i], std::string(kUnclosedQuote));
      row.fields = *std::move(fields);
      if (separator == ',' && row.fields.size() > table.columns.size()) join_brackets(row.fields);
      if (separator == '|') join_surplus(table.columns, row.fields);
    }
    if (row.fields == table.columns) continue;  // of files that were concatenated
    if (row.fields.size() != table.columns.size()) {
      return at(lines[i], fmt::format("has {} fields, but must have {}, as line {}", row.fields.size(),
                                      table.columns.size(), lines[0].number));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Error LogTable::error(const Row& row, std::string what) const {
  if (row.line > 0) return {std::move(what), {.file = file, .position = Position::line(row.line)}};
  return {std::move(what), {.file = file, .pointer = row.pointer}};
}

Error LogTable::error(std::string what) const {
  return {std::move(what), {.file = file}};
}

Result<LogTable> parse_log_table(std::string_view text, const std::string& file) {
  text = without_byte_order_mark(text);
  if (std::string fault = fault_of_encoding(text); !fault.empty())
    return Error{std::move(fault), {.file = file}};
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (text[first] == '{' || text[first] == '['))
    return table_of_json(text, file);
  return table_of_lines(lines_of(text), file);
}

Result<LogTable> read_log_table(ByteSource& source) {
  GOODPUT_TRY(const std::string text, read_all(source, kMostLogBytes));
  return parse_log_table(text, source.path());
}

Result<LogTable> read_log_table(const std::string& path) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  return read_log_table(source);
}

std::vector<std::string> column_names(std::string_view head) {
  head = without_byte_order_mark(head);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  if (head[first] == '{' || head[first] == '[') return keys_of_json_head(head);
  std::vector<Line> lines = lines_of(head);
  lines.resize(std::min<std::size_t>(lines.size(), 2));
  if (lines.size() == 2 && is_rule(lines[1].text)) {
    // The beginning of the file may lack leading blanks, so that names are not above their rules.
    std::vector<std::string> names;
    for (const std::string_view name : split(lines[0].text, ' ')) {
      if (!name.empty()) names.emplace_back(name);
    }
    return names;
  }
  if (lines.size() == 2) lines.pop_back();
  auto table = table_of_lines(lines, "");
  return table ? std::move(table->columns) : std::vector<std::string>{};
}

}  // namespace goodput
