// Op traces as CSV: a header line that names the columns in any order, then a line a row.
//
// Times are decimals of float32 or float64 values, told apart as traces/io/decimal.h says: when every
// start_ts and duration of the file is written as a float32 is, the float32 values are meant, else the
// float64 values.
#include <charconv>
#include <string>

#include "sim/base/float32.h"
#include "traces/io/byte_sink.h"
#include "traces/io/csv_lines.h"
#include "traces/io/decimal.h"
#include "traces/op/csv_reader.h"
#include "traces/op/op_trace_columns.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

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
          .summary = "a header line and one line per op, optionally compressed; columns in any order",
          .extensions = {".csv", ".csv.gz"},
          .matches = is_op_csv,
          .append_file = append_op_csv,
          .write = write_csv};
}

}  // namespace goodput
