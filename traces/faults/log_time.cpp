#include "traces/faults/log_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <optional>

#include "sim/base/text.h"
#include "sim/config/quantities.h"

namespace goodput {
namespace {

constexpr double kLatestSeconds = 9e9;

// Also with a decimal comma.
std::optional<double> decimal_number(std::string_view text) {
  std::string plain(text);
  const bool has_comma =
      plain.find('.') == std::string::npos && std::count(plain.begin(), plain.end(), ',') == 1;
  if (has_comma) std::replace(plain.begin(), plain.end(), ',', '.');
  return parse_number(plain);
}

// Takes text from the front.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : left_(text) {}

  [[nodiscard]] bool at_end() const { return left_.empty(); }
  [[nodiscard]] std::string_view left() const { return left_; }

  bool take(char c) {
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  bool take_any(std::string_view of) {
    return std::any_of(of.begin(), of.end(), [this](char c) { return take(c); });
  }
  // Exactly so many digits; at least one and at most 9 if `digits` is 0.
  std::optional<int> number(std::size_t digits) {
    std::size_t length = 0;
    while (length < left_.size() && length < 9 &&
           std::isdigit(static_cast<unsigned char>(left_[length])) != 0)
      ++length;
    if (digits > 0) length = length >= digits ? digits : 0;
    if (length == 0) return std::nullopt;
    int value = 0;
    for (const char c : left_.substr(0, length)) value = value * 10 + (c - '0');
    left_.remove_prefix(length);
    return value;
  }
  // ".25" as nanoseconds; digits beyond are dropped. 0: there is none.
  std::optional<SimDuration> fraction() {
    if (!take('.')) return SimDuration{};
    SimDuration unit = std::chrono::seconds{1};
    SimDuration value{};
    bool has_digits = false;
    for (; !left_.empty() && std::isdigit(static_cast<unsigned char>(left_.front())) != 0;
         left_.remove_prefix(1)) {
      unit /= 10;
      value += unit * (left_.front() - '0');
      has_digits = true;
    }
    if (!has_digits) return std::nullopt;
    return value;
  }

 private:
  std::string_view left_;
};

// "03:11", "03:11:09", "03:11:09.5"
std::optional<SimDuration> clock_time(Scanner& text) {
  const auto hour = text.number(2);
  if (!hour || *hour > 23 || !text.take(':')) return std::nullopt;
  const auto minute = text.number(2);
  if (!minute || *minute > 59) return std::nullopt;
  SimDuration time = std::chrono::hours{*hour} + std::chrono::minutes{*minute};
  if (!text.take(':')) return time;
  const auto second = text.number(2);
  const auto fraction = text.fraction();
  if (!second || *second > 60 || !fraction) return std::nullopt;
  return time + std::chrono::seconds{*second} + *fraction;
}

// "Z", "+02:00", "-0700", "+02". None: not a zone; the offset is what local time is ahead of UTC.
std::optional<SimDuration> zone_offset(Scanner& text) {
  if (text.take_any("Zz")) return SimDuration{};
  const bool is_behind = text.take('-');
  if (!is_behind && !text.take('+')) return std::nullopt;
  const auto hours = text.number(2);
  if (!hours || *hours > 14) return std::nullopt;
  text.take(':');
  const auto minutes = text.number(2);
  const SimDuration offset = std::chrono::hours{*hours} + std::chrono::minutes{minutes.value_or(0)};
  return is_behind ? -offset : offset;
}

std::optional<LogTime> date_time(std::string_view text) {
  Scanner scanner(text);
  const auto year = scanner.number(4);
  if (!year || !scanner.take_any("-/")) return std::nullopt;
  const auto month = scanner.number(2);
  if (!month || !scanner.take_any("-/")) return std::nullopt;
  const auto day = scanner.number(2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok() || *year < 1970 || *year > 2200) return std::nullopt;
  LogTime result{SimTime{std::chrono::sys_days{date}.time_since_epoch()}, LogTime::Form::kLocal};
  if (scanner.at_end()) return result;
  if (!scanner.take_any("Tt ")) return std::nullopt;
  const auto clock = clock_time(scanner);
  if (!clock) return std::nullopt;
  result.time += *clock;
  while (scanner.take(' ')) {
  }
  if (scanner.at_end()) return result;
  if (scanner.left() == "UTC" || scanner.left() == "GMT") {
    result.form = LogTime::Form::kZoned;
    return result;
  }
  const auto offset = zone_offset(scanner);
  if (!offset || !scanner.at_end()) return std::nullopt;
  result.time -= *offset;
  result.form = LogTime::Form::kZoned;
  return result;
}

// "08:30:00", "1-02:03:04", "1-02:03", "1 day, 2:03:04", "0 days 08:30:00.5"
std::optional<SimDuration> clock_duration(std::string_view text) {
  constexpr int kMost = 1'000'000;  // hours or days
  Scanner scanner(text);
  auto first = scanner.number(0);
  if (!first || *first > kMost) return std::nullopt;
  SimDuration days{};
  const bool has_days = !scanner.left().starts_with(':');
  if (has_days) {
    const bool has_dash = scanner.take('-');
    if (!has_dash) {
      std::string_view rest = scanner.left();
      if (!rest.starts_with(" day")) return std::nullopt;
      rest.remove_prefix(4);
      for (const char c : {'s', ',', ' '}) {
        if (rest.starts_with(c)) rest.remove_prefix(1);
      }
      scanner = Scanner(rest);
    }
    if (*first > kMost / 24) return std::nullopt;
    days = std::chrono::days{*first};
    if (scanner.at_end()) return has_dash ? std::nullopt : std::optional(days);
    first = scanner.number(0);
    if (!first || *first > kMost) return std::nullopt;
  }
  if (!scanner.take(':')) return std::nullopt;
  const auto minutes = scanner.number(2);
  if (!minutes || *minutes > 59) return std::nullopt;
  const SimDuration time = days + std::chrono::hours{*first} + std::chrono::minutes{*minutes};
  // Without days "08:30" may be hours and minutes, or minutes and seconds.
  if (!scanner.take(':')) return has_days && scanner.at_end() ? std::optional(time) : std::nullopt;
  const auto seconds = scanner.number(2);
  const auto fraction = scanner.fraction();
  if (!seconds || *seconds > 59 || !fraction || !scanner.at_end()) return std::nullopt;
  return time + std::chrono::seconds{*seconds} + *fraction;
}

}  // namespace

bool is_unknown(std::string_view text) {
  constexpr std::array<std::string_view, 12> kWords = {"",    "unknown", "none", "null", "nan",  "nat",
                                                       "n/a", "na",      "-",    "--",   "open", "ongoing"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [text](std::string_view word) { return equals_lower(word, text); });
}

Result<LogTime> parse_log_time(std::string_view text, SimDuration unit, std::string_view column) {
  if (const auto number = decimal_number(text)) {
    const double seconds = *number * to_seconds(unit);
    if (seconds >= 0 && seconds < kLatestSeconds)
      return LogTime{SimTime{from_seconds(seconds)}, LogTime::Form::kNumber};
    if (seconds < 0) return Error{fmt::format("{} is {}, but times must not be negative", column, text)};
    return Error{
        fmt::format("{} is {} s, which is after the year 2250; if it is in milliseconds, call the column "
                    "{}_ms",
                    column, text, column)};
  }
  if (const auto date = date_time(text)) return *date;
  return Error{fmt::format("{} must be a date like 2026-10-02T03:11:09 or a number of seconds, not {}",
                           column, in_quotes(text))};
}

Result<SimDuration> parse_log_duration(std::string_view text, SimDuration unit, std::string_view column) {
  std::optional<SimDuration> duration;
  if (const auto number = decimal_number(text)) {
    const double seconds = *number * to_seconds(unit);
    if (seconds >= 0 && seconds < kLatestSeconds) duration = from_seconds(seconds);
  } else if (const auto clock = clock_duration(text)) {
    duration = clock;
  } else if (const auto quantity = parse_duration(text)) {
    duration = *quantity;
  }
  if (duration && to_seconds(*duration) < kLatestSeconds) return *duration;
  return Error{
      fmt::format("{} must be a duration such as 3600, 1h or 01:00:00 (hours:minutes:seconds), not {}",
                  column, in_quotes(text))};
}

std::string date_text(SimTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time.time_since_epoch());
  const std::chrono::year_month_day date{std::chrono::sys_days{day}};
  const std::chrono::hh_mm_ss clock{std::chrono::floor<std::chrono::seconds>(time.time_since_epoch() - day)};
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

}  // namespace goodput
