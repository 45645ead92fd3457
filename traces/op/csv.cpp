// Op traces as CSV: a header line that names the columns in any order, then a line a row.
//
// Times are decimals of float32 or float64 values, told apart as traces/io/decimal.h says: when every
// start_ts and duration of the file is written as a float32 is, the float32 values are meant, else the
// float64 values.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/float32.h"
#include "sim/base/text.h"
#include "traces/io/byte_sink.h"
#include "traces/io/csv_lines.h"
#include "traces/io/decimal.h"
#include "traces/op/ndtimeline_names.h"
#include "traces/op/op_trace_columns.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

// Parses the lines of one file. Errors are texts without the place, which only the caller knows.
class RowParser {
 public:
  using Problem = std::optional<std::string>;

  explicit RowParser(const OpTableLayout& layout, std::size_t field_count) : columns_(field_count, kIgnored) {
    for (std::size_t i = 0; i < kOpColumnCount; ++i) {
      if (layout.position[i] != OpTableLayout::kAbsent)
        columns_[static_cast<std::size_t>(layout.position[i])] = i;
    }
    if (!layout.has_ids()) row_.seq_id = kUnset;
  }

  Problem append(std::string_view line, OpTrace& trace) {
    CsvFields fields(line);
    for (const std::size_t column : columns_) {
      if (fields.exhausted()) return wrong_field_count(line);
      if (auto problem = take(fields, column)) return problem;
    }
    if (!fields.exhausted()) return wrong_field_count(line);
    return trace.append(row_);
  }

  [[nodiscard]] bool times_are_float32() const { return times_are_float32_; }

 private:
  static constexpr std::size_t kIgnored = kOpColumnCount;

  Problem take(CsvFields& fields, std::size_t column) {
    if (column == kIgnored) return fields.take() ? Problem{} : unclosed_quote();
    if (column == goodput::index_of(OpColumn::kOptype)) return take_optype(fields);
    if (column == goodput::index_of(OpColumn::kStart)) return take_time(fields, column, row_.start_s);
    if (column == goodput::index_of(OpColumn::kDuration)) return take_time(fields, column, row_.duration_s);
    return take_integer(fields, column, row_.*kOpRowIntegers[column]);
  }

  static Problem take_integer(CsvFields& fields, std::size_t column, std::int64_t& value) {
    if (const auto plain = fields.take_plain_integer()) {
      value = *plain;
      return {};
    }
    const auto field = fields.take();
    if (!field) return unclosed_quote();
    const auto [end, error] = std::from_chars(field->data(), field->data() + field->size(), value);
    if (error == std::errc::result_out_of_range) {
      return fmt::format("{} is {}, which is no 64-bit integer", kOpColumnNames[column], in_quotes(*field));
    }
    if (error == std::errc{} && end == field->data() + field->size()) return {};
    return fmt::format("{} is {}, want an integer", kOpColumnNames[column], in_quotes(*field));
  }

  Problem take_time(CsvFields& fields, std::size_t column, double& value) {
    std::optional<Decimal> decimal = fields.take_plain_decimal();
    if (!decimal) {
      const auto field = fields.take();
      if (!field) return unclosed_quote();
      decimal = parse_decimal(*field);
      if (!decimal) return fmt::format("{} is {}, want seconds", kOpColumnNames[column], in_quotes(*field));
    }
    value = decimal->value;
    times_are_float32_ = times_are_float32_ && is_written_float32(*decimal);
    return {};
  }

  Problem take_optype(CsvFields& fields) {
    const auto field = fields.take();
    if (!field) return unclosed_quote();
    if (*field == to_string(row_.optype)) return {};  // as in the line before
    const auto optype = find_metric(*field);
    if (!optype) return unknown_op_type(*field);
    row_.optype = *optype;
    return {};
  }

  static std::string unclosed_quote() { return std::string(kUnclosedQuote); }

  Problem wrong_field_count(std::string_view line) const {
    const auto fields = split_csv(line);
    if (!fields) return unclosed_quote();
    return fmt::format("{} fields, but the header names {} columns", fields->size(), columns_.size());
  }

  std::vector<std::size_t> columns_;  // of ours, one a field of a line
  OpRow row_;                         // of the line before, while a line is parsed
  bool times_are_float32_ = true;
};

void round_times_to_float32(OpTrace& trace, std::size_t first_row) {
  for (auto* column : {&trace.start_s, &trace.duration_s}) {
    for (std::size_t i = first_row; i < column->size(); ++i) {
      (*column)[i] = round_to_float32((*column)[i]);
    }
  }
}

Result<RowParser> parse_header(std::string_view line, const Where& where) {
  const auto names = split_csv(without_byte_order_mark(line));
  if (!names) return Error{std::string(kUnclosedQuote), where};
  GOODPUT_TRY(const OpTableLayout layout, find_op_columns(*names, where));
  return RowParser(layout, names->size());
}

Result<FileNotes> append_csv(ByteSource& source, OpTrace& trace) {
  const std::size_t first_row = trace.size();
  LineBlocks blocks(source);
  std::optional<RowParser> parser;
  for (std::size_t line_number = 1;;) {
    GOODPUT_TRY(std::string_view block, blocks.next(line_number));
    if (block.empty()) break;
    for (; !block.empty(); ++line_number) {
      const std::string_view line = take_line(block);
      if (!parser) {
        GOODPUT_TRY(parser,
                    parse_header(line, {.file = source.path(), .position = Position::line(line_number)}));
      } else if (!line.empty()) {
        if (auto problem = parser->append(line, trace)) {
          return Error{*std::move(problem), {.file = source.path(), .position = Position::line(line_number)}};
        }
      }
    }
  }
  if (parser && parser->times_are_float32()) round_times_to_float32(trace, first_row);
  return FileNotes{};
}

bool is_csv(std::string_view head) {
  head = without_byte_order_mark(head);
  const auto names = split_csv(without_line_end(head.substr(0, head.find('\n'))));
  return names && looks_like_op_table(*names);
}

// How the times of a trace are written, so that reading them again gives the same bits.
struct TimeLayout {
  bool float32 = false;
  // A float64 time to write with zeros up to 10 digits, lest all of them read as float32; none: null.
  const double* marked = nullptr;
};

bool reads_as_float32(double value) {
  std::string text;
  append_float64(text, value);
  return is_written_float32(*parse_decimal(text));
}

// The first time that is no float32 if all of them, written as float64, would read as float32.
const double* find_time_to_mark(const OpTrace& trace) {
  const double* first = nullptr;
  for (const auto* column : {&trace.start_s, &trace.duration_s}) {
    for (const double& value : *column) {
      if (!reads_as_float32(value)) return nullptr;
      if (first == nullptr && round_to_float32(value) != value) first = &value;
    }
  }
  return first;
}

void append_time(std::string& text, const double& value, const TimeLayout& layout) {
  constexpr int kSurelyFloat64Digits = 10;
  text += ',';
  if (layout.float32)
    append_float32(text, static_cast<float>(value));
  else
    append_float64(text, value, &value == layout.marked ? kSurelyFloat64Digits : 0);
}

void append_integer(std::string& text, std::int64_t value) {
  char digits[24];
  const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), value);
  text.append(digits, end);
}

void append_row(std::string& text, const OpTrace& trace, std::size_t i, const TimeLayout& layout) {
  const auto integer = [&text](std::int64_t value) {
    text += ',';
    append_integer(text, value);
  };
  append_integer(text, trace.dp_rank[i]);
  integer(trace.stage[i]);
  integer(trace.rank[i]);
  integer(trace.step[i]);
  text += ',';
  text += to_string(trace.optype[i]);
  append_time(text, trace.start_s[i], layout);
  append_time(text, trace.duration_s[i], layout);
  integer(trace.seq_id[i]);
  integer(trace.mc[i]);
  integer(trace.mb_id[i]);
  integer(trace.gmc[i]);
  text += '\n';
}

std::string header_line() {
  std::string text;
  for (const std::string_view name : kOpColumnNames) text.append(text.empty() ? "" : ",").append(name);
  return text + '\n';
}

Status write_csv(const OpTrace& trace, const std::string& path, std::string_view final_path) {
  TimeLayout layout;
  layout.float32 = times_are_float32(trace);
  if (!layout.float32) layout.marked = find_time_to_mark(trace);
  GOODPUT_TRY(ByteSink file, ByteSink::open(path, final_path));
  std::string text = header_line();
  for (std::size_t i = 0; i < trace.size(); ++i) {
    append_row(text, trace, i, layout);
    GOODPUT_TRY_STATUS(file.write_if_full(text, kCsvBlockBytes));
  }
  GOODPUT_TRY_STATUS(file.write(text));
  return file.close();
}

}  // namespace

OpTraceFormat op_trace_format_csv() {
  return {.name = "csv",
          .summary = "a header line and a line an op, optionally gzipped; columns in any order",
          .extensions = {".csv", ".csv.gz"},
          .matches = is_csv,
          .append_file = append_csv,
          .write = write_csv};
}

}  // namespace goodput
