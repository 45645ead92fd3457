#include "traces/benchmark/gemm_csv.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "sim/base/text.h"
#include "traces/benchmark/gemm_columns.h"
#include "traces/io/csv_lines.h"

namespace goodput {
namespace {

using Fields = std::vector<std::string_view>;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::optional<Fields> fields_of(std::string_view line, char separator) {
  std::optional<Fields> fields = split_csv(line, separator);
  if (fields) {
    for (std::string_view& field : *fields) field = trimmed(field);
  }
  return fields;
}

bool is_before_header(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos || line.starts_with('#');
}

// The separator of the columns of a header; none: the line is not a header.
std::optional<char> separator_of(std::string_view line) {
  for (const char separator : {',', ';', '\t'}) {
    const std::optional<Fields> names = fields_of(line, separator);
    if (names && has_gemm_shape(*names)) return separator;
  }
  return std::nullopt;
}

bool is_yes(std::string_view text) {
  return equals_lower("yes", text) || equals_lower("true", text) || text == "1";
}

Result<std::int64_t> dimension(std::string_view name, std::string_view text) {
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  const std::optional<std::int64_t> value = parse_integer(text);
  if (value && *value >= 1 && *value <= kMost) return *value;
  return Error{fmt::format("{} is {}, but must be a whole number from 1 to 2^32", name, in_quotes(text))};
}

class GemmRows {
 public:
  Status take(std::string_view line, std::size_t number) {
    if (!columns_) return is_before_header(line) ? Status(Ok{}) : take_header(line, number);
    if (line.find_first_not_of(" \t") == std::string_view::npos) return Ok{};
    if (csv_.cut_line) return damaged(*csv_.cut_line);
    const std::optional<Fields> fields = fields_of(line, separator_);
    if (!fields || fields->size() != columns_->count) {
      csv_.cut_line = number;
      return Ok{};
    }
    return take_row(*fields, number);
  }

  // `ends_open`: the last line has no end.
  Result<GemmCsv> finish(bool ends_open) && {
    if (csv_.cut_line && !ends_open) return damaged(*csv_.cut_line);
    return std::move(csv_);
  }

 private:
  Status take_header(std::string_view line, std::size_t number) {
    separator_ = separator_of(line).value_or(',');
    const Fields names = fields_of(line, separator_).value_or(Fields{});
    GOODPUT_TRY(columns_, gemm_columns(names));
    csv_.header_line = number;
    csv_.has_dtype = columns_->dtype.has_value();
    return Ok{};
  }

  Status take_row(const Fields& fields, std::size_t number) {
    const auto text = [&](std::optional<std::size_t> column) {
      return column ? fields[*column] : std::string_view{};
    };
    const std::string_view value = fields[columns_->value];
    if (is_yes(text(columns_->skipped)) || value.empty() || equals_lower("nan", value)) {
      ++csv_.skipped;
      return Ok{};
    }
    if (const std::string_view batch = text(columns_->batch); !batch.empty() && batch != "1")
      return Error{
          fmt::format("batch is {}, but only single GEMMs have tables; remove the rows of batched ones",
                      in_quotes(batch))};
    GemmCsvRow row{.line = number};
    GOODPUT_TRY(row.m, dimension("m", fields[columns_->m]));
    GOODPUT_TRY(row.n, dimension("n", fields[columns_->n]));
    GOODPUT_TRY(row.k, dimension("k", fields[columns_->k]));
    GOODPUT_TRY(row.microseconds, microseconds(value, row));
    GOODPUT_TRY_STATUS(check_rate(fields, row));
    row.dtype = text(columns_->dtype);
    row.layout = text(columns_->layout);
    // An index is not a name.
    if (const std::string_view gpu = text(columns_->gpu); !parse_integer(gpu)) row.gpu = gpu;
    row.samples = std::max<std::int64_t>(0, parse_integer(text(columns_->samples)).value_or(0));
    GOODPUT_TRY_STATUS(check_variant(fields, row));
    csv_.rows.push_back(std::move(row));
    return Ok{};
  }

  static double flop_of(const GemmCsvRow& row) {
    return 2.0 * static_cast<double>(row.m) * static_cast<double>(row.n) * static_cast<double>(row.k);
  }

  // A time in another unit than its column says shows in the rate.
  [[nodiscard]] Status check_rate(const Fields& fields, const GemmCsvRow& row) const {
    constexpr double kMostFlops = 2e16;  // per second, of any GPU
    const double rate = 1e6 * flop_of(row) / row.microseconds;
    if (rate > kMostFlops)
      return Error{fmt::format(
          "the GEMM runs at {:.0f} TFLOP/s, more than any GPU does; correct the unit in the header",
          1e-12 * rate)};
    if (!columns_->rate) return Ok{};
    const auto stated = parse_number(fields[*columns_->rate]);
    if (!stated || std::abs(*stated * columns_->rate_flops - rate) <= 0.05 * rate) return Ok{};
    return Error{fmt::format(
        "the time means {:.4g} TFLOP/s, but the rate beside it is {:.4g} TFLOP/s; remove the wrong "
        "column",
        1e-12 * rate, 1e-12 * *stated * columns_->rate_flops)};
  }

  // Times of several kernels of one shape have no median that means anything.
  Status check_variant(const Fields& fields, const GemmCsvRow& row) {
    std::string variant;
    for (const std::size_t column : columns_->variants) variant += fmt::format(" {}", fields[column]);
    const auto key = std::tuple(row.m, row.n, row.k, row.dtype, row.layout);
    const auto [known, is_new] = variants_.try_emplace(key, variant, row.line);
    if (is_new || known->second.first == variant) return Ok{};
    return Error{fmt::format("is of{}, but line {} has the same shape of{}; keep the rows of one of them",
                             on_one_line(variant), known->second.second, on_one_line(known->second.first))};
  }

  [[nodiscard]] Result<double> microseconds(std::string_view text, const GemmCsvRow& row) const {
    constexpr double kMostMicroseconds = 1e12;
    const double value = parse_number(text).value_or(0);
    const double time =
        columns_->flops > 0 ? 1e6 * flop_of(row) / (value * columns_->flops) : value * columns_->microseconds;
    if (value > 0 && time > 0 && time < kMostMicroseconds) return time;
    return Error{
        fmt::format("the time or rate is {}, but must be a number above 0; remove the row", in_quotes(text))};
  }

  static Error damaged(std::size_t line) {
    return Error{"does not have as many fields as the header; correct or remove the row",
                 {.file = {}, .position = Position::line(line)}};
  }

  std::optional<GemmColumns> columns_;
  char separator_ = ',';
  // The variant and the line of the first row of a shape.
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string, std::string>,
           std::pair<std::string, std::size_t>>
      variants_;
  GemmCsv csv_;
};

}  // namespace

bool is_gemm_csv(std::string_view head) {
  head = without_byte_order_mark(head);
  while (!head.empty()) {
    const std::string_view line = without_line_end(head.substr(0, head.find('\n')));
    if (!is_before_header(line)) return separator_of(line).has_value();
    head.remove_prefix(std::min(head.find('\n'), head.size() - 1) + 1);
  }
  return false;
}

Result<GemmCsv> read_gemm_csv(ByteSource& source) {
  GemmRows rows;
  LineBlocks blocks(source);
  bool ends_open = false;
  for (std::size_t number = 1;;) {
    GOODPUT_TRY(std::string_view block, blocks.next(number));
    if (block.empty()) break;
    ends_open = blocks.ends_open();
    for (; !block.empty(); ++number) {
      const std::string_view line = take_line(block);
      const Status taken = rows.take(number == 1 ? without_byte_order_mark(line) : line, number);
      if (!taken) return at_line(taken.error(), source.path(), number).in_file(source.path());
    }
  }
  Result<GemmCsv> csv = std::move(rows).finish(ends_open);
  if (!csv) return csv.error().in_file(source.path());
  if (csv->rows.empty()) return Error{"has no rows with times", {.file = source.path()}};
  return csv;
}

}  // namespace goodput
