#include "traces/spot/spot_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

#include "sim/base/append.h"
#include "sim/base/text.h"
#include "traces/io/decimal.h"

namespace goodput {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

Error no_time(std::string_view text, std::string_view column, std::string_view why) {
  return {fmt::format("{} is {}, {}", column, in_quotes(text), why)};
}

// The digits behind the point as nanoseconds; `unit` shrinks tenfold a digit.
Result<std::int64_t> parse_fraction(std::string_view digits, std::int64_t unit) {
  std::int64_t nanoseconds = 0;
  for (const char digit : digits) {
    unit /= 10;
    if (unit == 0 && digit != '0') return Error{"which is finer than a nanosecond; round it"};
    nanoseconds += unit * (digit - '0');
  }
  return nanoseconds;
}

}  // namespace

Result<SimTime> parse_spot_time(std::string_view text, SimDuration unit, std::string_view column) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = text.substr(std::min(point + 1, text.size()));
  if (text.starts_with('-'))
    return no_time(text, column, "but must be 0 or more, counted from the start of the recording");
  if (!is_digits(whole) || (point != text.size() && !is_digits(fraction)))
    return no_time(text, column, "but must be a plain number such as 40920 or 0.25");
  std::int64_t value = 0;
  const auto scanned = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  if (scanned.ec != std::errc{} || __builtin_mul_overflow(value, unit.count(), &value))
    return no_time(text, column, "which is more than 292 years; times count from the start of the recording");
  const auto below = parse_fraction(fraction, unit.count());
  if (!below) return no_time(text, column, below.error().what);
  if (__builtin_add_overflow(value, *below, &value))
    return no_time(text, column, "which is more than 292 years; times count from the start of the recording");
  return SimTime{SimDuration{value}};
}

Result<std::int32_t> check_spot_count(std::int64_t count, std::string_view column) {
  if (count >= 0 && count <= kMostSpotNodes) return static_cast<std::int32_t>(count);
  return Error{
      fmt::format("{} must be a number of nodes from 0 to {}, not {}", column, kMostSpotNodes, count)};
}

Result<std::int32_t> parse_spot_count(std::string_view text, std::string_view column) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc{} && end == text.data() + text.size()) return check_spot_count(count, column);
  return Error{fmt::format("{} must be a number of nodes from 0 to {}, not {}", column, kMostSpotNodes,
                           in_quotes(text))};
}

Result<double> check_spot_price(double price, std::string_view column) {
  if (price >= 0 && price <= kMostSpotPrice) return price;
  return Error{
      fmt::format("{} must be USD per node-hour from 0 to {}, not {}", column, kMostSpotPrice, price)};
}

Result<double> parse_spot_price(std::string_view text, std::string_view column) {
  if (const auto decimal = parse_decimal(text)) return check_spot_price(decimal->value, column);
  return Error{fmt::format("{} must be USD per node-hour from 0 to {}, not {}", column, kMostSpotPrice,
                           in_quotes(text))};
}

void append_spot_seconds(std::string& text, SimTime time) {
  const std::int64_t nanoseconds = time.time_since_epoch().count();
  append(text, "{}", nanoseconds / kNanosecondsPerSecond);
  if (nanoseconds % kNanosecondsPerSecond == 0) return;
  append(text, ".{:09}", nanoseconds % kNanosecondsPerSecond);
  text.resize(text.find_last_not_of('0') + 1);
}

void append_spot_count(SpotTrace& trace, SimTime time, std::int32_t count) {
  std::vector<SpotCount>& counts = trace.counts;
  if (!counts.empty() && counts.back().time == time) counts.pop_back();
  if (counts.empty() || counts.back().count != count) counts.push_back({time, count});
}

void append_spot_price(SpotTrace& trace, SimTime time, double usd_per_node_hour) {
  std::vector<SpotPrice>& prices = trace.prices;
  if (!prices.empty() && prices.back().time == time) prices.pop_back();
  if (prices.empty() || prices.back().usd_per_node_hour != usd_per_node_hour)
    prices.push_back({time, usd_per_node_hour});
}

Status refuse_preempted(const SpotOptions& options, const std::string& path) {
  if (options.polarity != SpotPolarity::kPreempted) return Ok{};
  return Error{
      fmt::format("{} preempted does not apply: files of this format list available nodes; remove the option",
                  kOption),
      {.file = path},
      "polarity"};
}

}  // namespace goodput
