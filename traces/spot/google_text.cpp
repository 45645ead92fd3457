// The size of a Google Cloud instance group as Bamboo logged it: `YYYY-MM-DD, HH:MM:SS, count`, local time of
// a zone that is not stated, so a change of the clocks would show as a jump.
//
// Loggers ran side by side, so timestamps repeat and go backwards. The rule: rows are taken in the order of
// the file; a count begins at the first row that shows it, and holds until the first row that shows another
// one. The recording ends at the latest timestamp. There is no constant pace: no holes are told.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>

#include "sim/base/text.h"
#include "traces/io/csv_lines.h"
#include "traces/spot/spot_columns.h"
#include "traces/spot/spot_fields.h"
#include "traces/spot/spot_format.h"

namespace goodput {
namespace {

constexpr std::array<std::size_t, 3> kGoogleColumns = {0, 1, 2};
constexpr std::chrono::seconds kLongest = std::chrono::years{100};  // fits into SimTime

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Numbers of the given widths with `separator` between them: "2021-12-11".
std::optional<std::array<int, 3>> split_numbers(std::string_view text, char separator,
                                                std::array<std::size_t, 3> widths) {
  std::array<int, 3> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && !text.starts_with(separator)) return std::nullopt;
    if (i > 0) text.remove_prefix(1);
    const std::string_view digits = text.substr(0, widths[i]);
    if (digits.size() < widths[i] || digits.front() == '-') return std::nullopt;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), numbers[i]);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    text.remove_prefix(widths[i]);
  }
  return text.empty() ? std::optional(numbers) : std::nullopt;
}

// Seconds from 1970, in the zone of the file.
Result<std::chrono::seconds> parse_timestamp(std::string_view date, std::string_view clock) {
  using std::chrono::days;
  const auto ymd = split_numbers(date, '-', {4, 2, 2});
  if (!ymd) return Error{fmt::format("the date must be YYYY-MM-DD, not {}", in_quotes(date))};
  const std::chrono::year_month_day day{std::chrono::year{(*ymd)[0]},
                                        std::chrono::month{static_cast<unsigned>((*ymd)[1])},
                                        std::chrono::day{static_cast<unsigned>((*ymd)[2])}};
  if (!day.ok()) return Error{fmt::format("the date {} does not exist", in_quotes(date))};
  const auto hms = split_numbers(clock, ':', {2, 2, 2});
  if (!hms || (*hms)[0] > 23 || (*hms)[1] > 59 || (*hms)[2] > 59)
    return Error{
        fmt::format("the time must be HH:MM:SS from 00:00:00 to 23:59:59, not {}", in_quotes(clock))};
  return std::chrono::sys_days{day}.time_since_epoch() + std::chrono::hours{(*hms)[0]} +
         std::chrono::minutes{(*hms)[1]} + std::chrono::seconds{(*hms)[2]};
}

class GoogleRows {
 public:
  Status take(std::string_view line) {
    if (line.empty()) return Ok{};
    std::array<std::string_view, kGoogleColumns.size()> fields;
    GOODPUT_TRY_STATUS(split_spot_row(line, kGoogleColumns, fields));
    for (std::string_view& field : fields) field = trimmed(field);
    GOODPUT_TRY(const std::chrono::seconds stamp, parse_timestamp(fields[0], fields[1]));
    GOODPUT_TRY(const std::int32_t count, parse_spot_count(fields[2], "the count"));
    if (!origin_) origin_ = stamp;
    if (stamp - *origin_ > kLongest || *origin_ - stamp > kLongest) {
      return Error{fmt::format("{} is more than 100 years from the first row; is the year right?",
                               in_quotes(fields[0]))};
    }
    return add(SimTime{stamp - *origin_}, count);
  }

  [[nodiscard]] bool empty() const { return !origin_.has_value(); }
  [[nodiscard]] SpotTrace finish() && { return std::move(trace_); }

 private:
  Status add(SimTime time, std::int32_t count) {
    trace_.end = std::max(trace_.end, time);
    const bool is_change = trace_.counts.empty() || trace_.counts.back().count != count;
    if (!is_change) return Ok{};
    if (!trace_.counts.empty() && time < trace_.counts.back().time) {
      return Error{"a new count comes before the time of the last change; sort the blocks of rows by time"};
    }
    append_spot_count(trace_, time, count);
    return Ok{};
  }

  SpotTrace trace_;
  std::optional<std::chrono::seconds> origin_;  // the first row
};

bool is_google_text(std::string_view head) {
  const auto fields = spot_header(head);
  return fields.size() == 3 && split_numbers(trimmed(fields[0]), '-', {4, 2, 2}).has_value();
}

Result<SpotContent> read_google_text(ByteSource& source, const SpotOptions& options) {
  GOODPUT_TRY_STATUS(refuse_preempted(options, source.path()));
  GoogleRows rows;
  const auto take = [&](std::string_view line, std::size_t number) -> Status {
    if (number > kMostSpotRows) return Error{fmt::format("has more than {} rows", kMostSpotRows)};
    return rows.take(number == 1 ? without_byte_order_mark(line) : line);
  };
  GOODPUT_TRY_STATUS(for_each_line(source, kSpotBlockBytes, take));
  if (rows.empty()) return Error{"has no rows", {.file = source.path()}};
  return SpotContent{.trace = std::move(rows).finish(), .assumed_meaning = SpotMeaning::kHeld};
}

}  // namespace

SpotFormat spot_format_google_text() {
  return {.name = "google_text",
          .summary = "spot counts: YYYY-MM-DD, HH:MM:SS, count of a Google Cloud instance group",
          .extensions = {},
          .matches = is_google_text,
          .read = read_google_text,
          .write = nullptr};
}

}  // namespace goodput
