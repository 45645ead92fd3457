#include "models/sweep/axis_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/sweep/expression.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/config/changes.h"

namespace goodput {
namespace {

constexpr std::uint64_t kMostSpaced = 10'000'000;
constexpr int kMostDigits = 17;

// A number as it is written: digits / 10^decimals.
struct WrittenNumber {
  std::int64_t digits = 0;
  int decimals = 0;
  bool has_point = false;

  [[nodiscard]] double value() const {
    return static_cast<double>(digits) / std::pow(10.0, decimals);  // exact operands: correctly rounded
  }
  [[nodiscard]] bool is_whole() const { return !has_point && decimals == 0; }
};

// -12.5e3. Nothing: it is none, or has more digits than a double keeps.
std::optional<WrittenNumber> written_number(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t e = text.find_first_of("eE");
  std::string_view mantissa = text.substr(0, e);
  std::int64_t exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view power = text.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    const auto parsed = parse_integer(power);
    if (!parsed || std::abs(*parsed) > kMostDigits) return std::nullopt;
    exponent = *parsed;
  }
  WrittenNumber number;
  int digits = 0;
  for (const char c : mantissa) {
    if (c == '.') {
      if (std::exchange(number.has_point, true)) return std::nullopt;
      continue;
    }
    if (c < '0' || c > '9' || ++digits > kMostDigits) return std::nullopt;
    number.digits = 10 * number.digits + (c - '0');
    if (number.has_point) ++number.decimals;
  }
  if (digits == 0) return std::nullopt;
  number.decimals -= static_cast<int>(exponent);
  for (; number.decimals < 0; ++number.decimals) {
    if (number.digits > std::numeric_limits<std::int64_t>::max() / 100) return std::nullopt;
    number.digits *= 10;
  }
  if (number.decimals > kMostDigits) return std::nullopt;
  if (is_negative) number.digits = -number.digits;
  return number;
}

// The same number with more decimals; nothing: it has too many digits then.
std::optional<std::int64_t> with_decimals(const WrittenNumber& number, int decimals) {
  std::int64_t digits = number.digits;
  for (int i = number.decimals; i < decimals; ++i) {
    if (std::abs(digits) > std::numeric_limits<std::int64_t>::max() / 100) return std::nullopt;
    digits *= 10;
  }
  return digits;
}

// At commas that stand in no JSON array, object or text.
std::vector<std::string_view> split_values(std::string_view text) {
  std::vector<std::string_view> values;
  std::size_t begin = 0;
  int depth = 0;
  bool is_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_text && c == '\\') {
      ++i;
    } else if (c == '"') {
      is_text = !is_text;
    } else if (!is_text && (c == '[' || c == '{')) {
      ++depth;
    } else if (!is_text && (c == ']' || c == '}')) {
      --depth;
    } else if (!is_text && depth <= 0 && c == ',') {
      values.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  values.push_back(text.substr(begin));
  return values;
}

Error no_range(std::string_view text, std::string_view why) {
  return Error{fmt::format("{} is not a valid range: {}", in_quotes(text), why)};
}

// "/7", ":8", ":log", "/7:log" behind a range.
struct RangeSuffix {
  std::optional<std::uint64_t> count{};
  std::optional<WrittenNumber> step{};
  bool is_log = false;
};

Result<RangeSuffix> range_suffix(std::string_view suffix, std::string_view text) {
  RangeSuffix parsed;
  const std::size_t colon = suffix.find(':');
  if (suffix.starts_with('/')) {
    const auto count = parse_integer(suffix.substr(1, colon == std::string_view::npos ? colon : colon - 1));
    if (!count || *count < 2 || static_cast<std::uint64_t>(*count) > kMostSpaced)
      return no_range(
          text, fmt::format("expected the number of values, from 2 to {}, after the slash", kMostSpaced));
    parsed.count = static_cast<std::uint64_t>(*count);
  }
  if (colon == std::string_view::npos) return parsed;
  const std::string_view after = suffix.substr(colon + 1);
  if (after == "log") {
    parsed.is_log = true;
    return parsed;
  }
  parsed.step = written_number(after);
  if (!parsed.step || parsed.step->digits <= 0)
    return no_range(text, "expected a step above 0 or \"log\" after the colon");
  if (parsed.count) return no_range(text, "give either the number of values or a step, not both");
  return parsed;
}

}  // namespace

double AxisRange::at(double share) const {
  if (is_log) return low * std::pow(high / low, share);
  return low + share * (high - low);
}

std::string AxisValues::Piece::at(std::uint64_t index) const {
  if (!value.empty()) return value;
  if (step > 0) {
    const std::int64_t digits = first + static_cast<std::int64_t>(index) * step;
    return number_json(WrittenNumber{digits, decimals, false}.value());
  }
  const std::uint64_t last = count.value_or(1) - 1;
  if (index == 0 || index == last) return number_json(index == 0 ? range.low : range.high);
  const double number = range.at(static_cast<double>(index) / static_cast<double>(last));
  return number_json(range.is_whole ? std::round(number) : number);
}

Status AxisValues::check_spaced(const Piece& piece, std::string_view text) {
  if (!piece.count || piece.step > 0 || !piece.range.is_whole) return Ok{};
  for (std::uint64_t i = 1; i < *piece.count; ++i) {
    if (piece.at(i - 1) == piece.at(i)) {
      return no_range(text, fmt::format("two values of the range round to {}; ask for fewer values, or write "
                                        "the ends with a decimal point",
                                        piece.at(i)));
    }
  }
  return Ok{};
}

Result<AxisValues::Piece> AxisValues::parse_range(std::string_view text, std::size_t dots) {
  const std::size_t end = text.find_first_of("/:", dots);
  const auto low = written_number(text.substr(0, dots));
  const auto high =
      written_number(text.substr(dots + 2, end == std::string_view::npos ? end : end - dots - 2));
  if (!low || !high)
    return no_range(text, "expected LOW..HIGH with two numbers, for example 0..8 or 0.1..0.5:0.1");
  GOODPUT_TRY(const RangeSuffix suffix,
              range_suffix(end == std::string_view::npos ? "" : text.substr(end), text));
  Piece piece;
  piece.range = {low->value(), high->value(), low->is_whole() && high->is_whole(), suffix.is_log};
  if (!(piece.range.low < piece.range.high)) return no_range(text, "the low end must be below the high end");
  if (suffix.is_log && !(piece.range.low > 0))
    return no_range(text, "the ends of a log scale must be above 0");
  piece.count = suffix.count;
  const bool is_every_whole_one = piece.range.is_whole && !suffix.count && !suffix.is_log;
  if (!suffix.step && !is_every_whole_one) {
    GOODPUT_TRY_STATUS(check_spaced(piece, text));
    return piece;
  }
  const WrittenNumber each = suffix.step.value_or(WrittenNumber{1, 0, false});
  piece.decimals = std::max({low->decimals, high->decimals, each.decimals});
  const auto first = with_decimals(*low, piece.decimals);
  const auto last = with_decimals(*high, piece.decimals);
  const auto step = with_decimals(each, piece.decimals);
  if (!first || !last || !step) return no_range(text, "the numbers of the range have too many digits");
  piece.first = *first;
  piece.step = *step;
  piece.count = static_cast<std::uint64_t>((*last - *first) / *step) + 1;
  return piece;
}

Result<AxisValues::Piece> AxisValues::parse_piece(std::string_view text) {
  const bool looks_like_number =
      !text.empty() && text.find_first_of("0123456789") <= text.find_first_not_of("+-.");
  const std::size_t dots = text.find("..", 1);
  if (looks_like_number && dots != std::string_view::npos) return parse_range(text, dots);
  Piece piece;
  piece.value = config::json_or_text(text).dump();
  piece.count = 1;
  return piece;
}

Result<AxisValues> AxisValues::parse(std::string_view text) {
  AxisValues values;
  const std::vector<std::string_view> pieces = split_values(text);
  for (const std::string_view piece : pieces) {
    if (piece.empty()) return Error{"has an empty value; write \"\" for an empty string"};
    GOODPUT_TRY(Piece parsed, parse_piece(piece));
    if (!parsed.count && pieces.size() > 1)
      return no_range(piece, "a range in a list must include its number of values, for example 0.1..0.5/5");
    values.pieces_.push_back(std::move(parsed));
  }
  return values;
}

std::optional<std::uint64_t> AxisValues::count() const {
  std::uint64_t all = 0;
  for (const Piece& piece : pieces_) {
    if (!piece.count) return std::nullopt;
    all += std::min(*piece.count, std::numeric_limits<std::uint64_t>::max() - all);
  }
  return all;
}

std::string AxisValues::at(std::uint64_t index) const {
  for (const Piece& piece : pieces_) {
    if (index < piece.count.value_or(0)) return piece.at(index);
    index -= piece.count.value_or(0);
  }
  throw InternalError("the axis has no such value");
}

std::string AxisValues::at_share(double share) const {
  if (const auto values = count()) {
    const double index = std::floor(share * static_cast<double>(*values));
    return at(std::min(static_cast<std::uint64_t>(index), *values - 1));
  }
  AxisRange range = pieces_.front().range;
  if (!range.is_whole) return number_json(range.at(share));
  const double last = range.high;
  ++range.high;
  return number_json(std::min(std::floor(range.at(share)), last));
}

std::optional<std::string> AxisValues::find_unlike(
    const std::function<bool(const std::string&)>& is_fine) const {
  constexpr double kBetween = 0.618;
  std::vector<std::string> some;
  const auto values = count();
  if (!values) some = {at_share(0), at_share(kBetween)};
  for (std::uint64_t i = 0; i < std::min(values.value_or(0), kMostSpaced); ++i) {
    if (std::string value = at(i); !is_fine(value)) return value;
  }
  const auto unlike = std::find_if_not(some.begin(), some.end(), is_fine);
  return unlike == some.end() ? std::nullopt : std::optional(*unlike);
}

AxisValues AxisValues::of(std::vector<std::string> values) {
  AxisValues all;
  for (std::string& value : values) {
    Piece piece;
    piece.value = std::move(value);
    piece.count = 1;
    all.pieces_.push_back(std::move(piece));
  }
  return all;
}

}  // namespace goodput
