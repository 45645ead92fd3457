#include "traces/op/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/float32.h"
#include "sim/base/text.h"
#include "traces/io/csv_lines.h"
#include "traces/io/decimal.h"
#include "traces/op/ndtimeline_names.h"
#include "traces/op/op_trace_columns.h"

namespace goodput {
namespace {

constexpr std::string_view kSeparators = ",;\t";

std::string_view without_spaces(std::string_view field) {
  const std::size_t begin = std::min(field.find_first_not_of(" \t\r"), field.size());
  return field.substr(begin, field.find_last_not_of(" \t\r") + 1 - begin);
}

// How tables write that there is no value.
bool is_absent(std::string_view field) {
  constexpr std::string_view kAbsent[] = {"", "nan", "na", "null", "none"};
  constexpr std::size_t kLongest = 4;
  if (field.size() > kLongest) return false;
  std::string lower(field);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return std::ranges::find(kAbsent, lower) != std::end(kAbsent);
}

// The number that `field` is, with spaces around it and a plus before it; with a comma for the point where
// commas separate nothing.
std::optional<Decimal> parse_number(std::string_view field, char separator) {
  field = without_spaces(field);
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);
  if (separator == ',' || field.find(',') == std::string_view::npos) return parse_decimal(field);
  std::string pointed(field);
  pointed[field.find(',')] = '.';
  return parse_decimal(pointed);
}

// 3.0, +3, 3e0: an integer that was written as another number.
std::optional<std::int64_t> parse_whole_number(std::string_view field, char separator) {
  constexpr double kExact = 9007199254740992;  // 2^53
  const auto decimal = parse_number(field, separator);
  if (!decimal || !(std::abs(decimal->value) < kExact) || std::trunc(decimal->value) != decimal->value) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(decimal->value);
}

bool may_be_absent(std::size_t column) {
  return column == index_of(OpColumn::kMc) || column == index_of(OpColumn::kMbId) ||
         column == index_of(OpColumn::kGmc);
}

// The separator of a header line; a comma when no other makes it one.
char separator_of(std::string_view line) {
  for (const char separator : kSeparators) {
    const auto names = split_csv(line, separator);
    if (names && looks_like_op_table(*names)) return separator;
  }
  return kSeparators.front();
}

bool is_header(std::string_view line) {
  if (line.empty() || (line[0] >= '0' && line[0] <= '9')) return false;  // a row, nearly always
  const auto names = split_csv(line, separator_of(line));
  return names && looks_like_op_table(*names);
}

void round_times_to_float32(OpTrace& trace, std::size_t first_row) {
  for (auto* column : {&trace.start_s, &trace.duration_s}) {
    for (std::size_t i = first_row; i < column->size(); ++i) {
      (*column)[i] = round_to_float32((*column)[i]);
    }
  }
}

// How a file ends, as far as the line at hand is its last one and has no end of its own.
struct FileEnd {
  bool is_open = false;
  std::string truncation;  // of compressed data
};

}  // namespace

// Parses the lines of one file. Problems are texts without the place, which only the caller knows.
class CsvRowParser {
 public:
  using Problem = std::optional<std::string>;

  CsvRowParser(const OpTableLayout& layout, std::size_t field_count, char separator, TraceIntake& intake)
      : intake_(intake), columns_(field_count, kIgnored), separator_(separator) {
    for (std::size_t i = 0; i < kOpColumnCount; ++i) {
      if (layout.position[i] != OpTableLayout::kAbsent)
        columns_[static_cast<std::size_t>(layout.position[i])] = i;
    }
    if (!layout.has_ids())
      row_.seq_id = kUnset;
    else if (layout.at(OpColumn::kGmc) == OpTableLayout::kAbsent)
      intake.note_absent_chunks();
  }

  Problem append(std::string_view line, std::size_t number) {
    if (separator_ == ';') return append_fields<';'>(line, number);
    if (separator_ == '\t') return append_fields<'\t'>(line, number);
    return append_fields<','>(line, number);
  }

  // The step in a line, if at least `followers` fields follow it: 1 where the line may be cut.
  [[nodiscard]] std::optional<std::int64_t> step_in(std::string_view line, std::size_t followers) const {
    const auto field = field_in(line, OpColumn::kStep, followers);
    return field ? parse_whole_number(*field, separator_) : std::nullopt;
  }
  // The op type in a line.
  [[nodiscard]] std::optional<std::string_view> optype_in(std::string_view line) const {
    return field_in(line, OpColumn::kOptype, 0);
  }
  // Whether a line that is the last of its file, and could not be read, is the beginning of one that could.
  [[nodiscard]] bool is_cut(std::string_view line) const {
    const auto fields = split_csv(line, separator_);
    return !fields || fields->size() < columns_.size() || fields->back() == "-";
  }

  [[nodiscard]] bool ends_in_separator(std::string_view line) const { return line.ends_with(separator_); }

  [[nodiscard]] bool times_are_float32() const { return times_are_float32_; }
  void also(bool times_are_float32) { times_are_float32_ = times_are_float32_ && times_are_float32; }

 private:
  static constexpr std::size_t kIgnored = kOpColumnCount;

  template <char kSeparator>
  Problem append_fields(std::string_view line, std::size_t number) {
    SeparatedFields<kSeparator> fields(line);
    for (const std::size_t column : columns_) {
      if (fields.exhausted()) return wrong_field_count(line);
      if (auto problem = take(fields, column)) return problem;
    }
    if (!fields.exhausted()) return wrong_field_count(line);
    return intake_.append(row_, Position::line(number));
  }

  template <typename Fields>
  Problem take(Fields& fields, std::size_t column) {
    if (column == kIgnored) return fields.take() ? Problem{} : unclosed_quote();
    if (column == goodput::index_of(OpColumn::kOptype)) return take_optype(fields);
    if (column == goodput::index_of(OpColumn::kStart)) return take_time(fields, column, row_.start_s);
    if (column == goodput::index_of(OpColumn::kDuration)) return take_time(fields, column, row_.duration_s);
    return take_integer(fields, column, row_.*kOpRowIntegers[column]);
  }

  template <typename Fields>
  Problem take_integer(Fields& fields, std::size_t column, std::int64_t& value) {
    const auto plain = fields.take_plain_integer();
    if (!plain) return take_unusual_integer(fields.take(), column, value);
    value = *plain;
    return {};
  }

  template <typename Fields>
  Problem take_time(Fields& fields, std::size_t column, double& value) {
    const std::optional<Decimal> decimal = fields.take_plain_decimal();
    if (!decimal) return take_unusual_time(fields.take(), column, value);
    value = decimal->value;
    times_are_float32_ = times_are_float32_ && is_written_float32(*decimal);
    return {};
  }

  template <typename Fields>
  Problem take_optype(Fields& fields) {
    const auto field = fields.take();
    if (field && *field == to_string(row_.optype)) return {};  // as in the line before
    return take_other_optype(field);
  }

  // The slow ways are functions of their own, for the fast ones to be inlined.
  [[gnu::noinline]] Problem take_unusual_integer(std::optional<std::string_view> field, std::size_t column,
                                                 std::int64_t& value) {
    if (!field) return unclosed_quote();
    const auto [end, error] = std::from_chars(field->data(), field->data() + field->size(), value);
    if (error == std::errc::result_out_of_range) {
      return fmt::format("{} is {}, which does not fit into 64 bits", kOpColumnNames[column],
                         in_quotes(*field));
    }
    if (error == std::errc{} && end == field->data() + field->size()) return {};
    if (const auto whole = parse_whole_number(*field, separator_)) {
      value = *whole;
      return {};
    }
    if (may_be_absent(column) && is_absent(without_spaces(*field))) {
      value = kUnset;
      intake_.note_absent_chunks();
      return {};
    }
    return fmt::format("{} must be an integer, not {}", kOpColumnNames[column], in_quotes(*field));
  }

  [[gnu::noinline]] Problem take_unusual_time(std::optional<std::string_view> field, std::size_t column,
                                              double& value) {
    if (!field) return unclosed_quote();
    const auto decimal = parse_number(*field, separator_);
    if (decimal) {
      value = decimal->value;
      if (std::isfinite(value)) times_are_float32_ = times_are_float32_ && is_written_float32(*decimal);
      return {};
    }
    if (intake_.is_strict() || !is_absent(without_spaces(*field))) {
      return fmt::format("{} must be a number of seconds, not {}", kOpColumnNames[column], in_quotes(*field));
    }
    value = std::numeric_limits<double>::quiet_NaN();
    return {};
  }

  [[gnu::noinline]] Problem take_other_optype(std::optional<std::string_view> field) {
    if (!field) return unclosed_quote();
    const auto optype = find_metric(without_spaces(*field));
    if (!optype) return intake_.is_strict() ? unknown_op_type(*field) : std::string();  // settled by the line
    row_.optype = *optype;
    return {};
  }

  static std::string unclosed_quote() { return std::string(kUnclosedQuote); }

  std::string wrong_field_count(std::string_view line) const {
    const auto fields = split_csv(line, separator_);
    if (!fields) return unclosed_quote();
    return fmt::format("has {} fields, but the header has {} columns", fields->size(), columns_.size());
  }

  // The field of a column, if at least `followers` fields follow it.
  [[nodiscard]] std::optional<std::string_view> field_in(std::string_view line, OpColumn column,
                                                         std::size_t followers) const {
    const auto at =
        static_cast<std::size_t>(std::ranges::find(columns_, goodput::index_of(column)) - columns_.begin());
    const auto fields = split_csv(line, separator_);
    if (!fields || fields->size() <= at + followers) return std::nullopt;
    return without_spaces((*fields)[at]);
  }

  TraceIntake& intake_;
  std::vector<std::size_t> columns_;  // of ours, one a field of a line
  OpRow row_;                         // of the line before, while a line is parsed
  char separator_;
  bool times_are_float32_ = true;
};

// Takes the lines of one file, one after the other.
class OpCsvLines::Taker {
 public:
  Taker(std::string path, TraceIntake& intake) : path_(std::move(path)), intake_(intake) {}

  Status take(std::string_view line, std::size_t number, const FileEnd& end = {}) {
    if (line.empty()) return Ok{};
    if (!parser_ || (end.is_open && is_surely_cut(line, end))) return take_other(line, number, end);
    auto problem = parser_->append(line, number);
    if (!problem) return Ok{};
    return settle(line, number, end.is_open, *std::move(problem));
  }

  [[nodiscard]] bool times_are_float32() const { return parser_ && parser_->times_are_float32(); }
  [[nodiscard]] std::size_t ignored_metrics() const { return ignored_metrics_; }

 private:
  // Whether the last line, which has no end of its own, is not to be trusted even if it reads well.
  [[nodiscard]] bool is_surely_cut(std::string_view line, const FileEnd& end) const {
    return !intake_.is_strict() && (!end.truncation.empty() || parser_->ends_in_separator(line));
  }

  // The header, or what is left of the last line.
  Status take_other(std::string_view line, std::size_t number, const FileEnd& end) {
    if (parser_) {
      intake_.count_at(CleaningRule::kCutRecords, Position::line(number),
                       end.truncation.empty() ? "the file ends inside the line" : end.truncation,
                       parser_->step_in(line, 1));
      return Ok{};
    }
    if (without_spaces(line).empty()) return Ok{};
    return take_header(line, number);
  }

  Status take_header(std::string_view line, std::size_t number) {
    const Where where{.file = path_, .position = Position::line(number)};
    line = without_byte_order_mark(line);
    const char separator = separator_of(line);
    const auto names = split_csv(line, separator);
    if (!names) return Error{std::string(kUnclosedQuote), where};
    GOODPUT_TRY(const OpTableLayout layout, find_op_columns(*names, where));
    const bool times_are_float32 = !parser_ || parser_->times_are_float32();
    parser_.emplace(layout, names->size(), separator, intake_);
    parser_->also(times_are_float32);
    return Ok{};
  }

  // What to do about a line that is no row.
  Status settle(std::string_view line, std::size_t number, bool is_open, std::string problem) {
    const Position at = Position::line(number);
    if (without_spaces(line).empty()) return Ok{};
    if (is_header(without_byte_order_mark(line))) {
      intake_.count_at(CleaningRule::kRepeatedHeaders, at, "repeated header line");
      return take_header(line, number);
    }
    if (!intake_.is_strict() && is_open && parser_->is_cut(line)) {
      intake_.count_at(CleaningRule::kCutRecords, at, problem, parser_->step_in(line, 1));
      return Ok{};
    }
    const auto optype = parser_->optype_in(line);
    if (optype && !find_metric(*optype) && !intake_.is_strict()) {
      if (is_ignored_metric(*optype)) {
        ++ignored_metrics_;
        return Ok{};
      }
      if (intake_.skips(*optype, parser_->step_in(line, 0))) return Ok{};
      problem = unknown_metric(*optype);
    }
    return Error{std::move(problem), {.file = path_, .position = at}};
  }

  std::string path_;
  TraceIntake& intake_;
  std::optional<CsvRowParser> parser_;
  std::size_t ignored_metrics_ = 0;
};

Result<FileNotes> OpCsvLines::take_file(ByteSource& source, TraceIntake& intake) {
  const std::size_t first_row = intake.trace().size();
  Taker taker(source.path(), intake);
  LineBlocks blocks(source);
  for (std::size_t number = 1;;) {
    GOODPUT_TRY(std::string_view block, blocks.next(number));
    if (block.empty()) break;
    for (; !block.empty(); ++number) {
      const std::string_view line = take_line(block);
      if (block.empty() && blocks.ends_open())
        GOODPUT_TRY_STATUS(taker.take(line, number, {true, source.truncation()}));
      else
        GOODPUT_TRY_STATUS(taker.take(line, number));
    }
  }
  if (taker.times_are_float32() && intake.seconds_per_unit() == 1)
    round_times_to_float32(intake.trace(), first_row);
  FileNotes notes;
  if (taker.ignored_metrics() > 0) {
    notes.push_back(fmt::format("{}: ignored rows of metrics that are not ops of a step: {}", source.path(),
                                taker.ignored_metrics()));
  }
  return notes;
}

Result<FileNotes> append_op_csv(ByteSource& source, TraceIntake& intake) {
  return OpCsvLines::take_file(source, intake);
}

OpCsvLines::OpCsvLines(std::string path, TraceIntake& intake)
    : intake_(&intake), taker_(std::make_unique<Taker>(std::move(path), intake)) {}
OpCsvLines::OpCsvLines(OpCsvLines&&) noexcept = default;
OpCsvLines::~OpCsvLines() = default;

Status OpCsvLines::take(std::string_view line, std::size_t number) {
  const std::size_t first_row = intake_->trace().size();
  GOODPUT_TRY_STATUS(taker_->take(line, number));
  if (taker_->times_are_float32() && intake_->seconds_per_unit() == 1)
    round_times_to_float32(intake_->trace(), first_row);
  return Ok{};
}

bool is_op_csv(std::string_view head) {
  head = without_byte_order_mark(head);
  return is_header(without_line_end(head.substr(0, head.find('\n'))));
}

}  // namespace goodput
