// Times and durations as failure logs write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/base/units.h"

namespace goodput {

struct LogTime {
  enum class Form : std::uint8_t {
    kNumber,  // since the start of the recording, or since 1970 if it is that large
    kLocal,   // a date without a time zone, taken as UTC
    kZoned,   // a date with a time zone, converted to UTC
  };
  SimTime time{};
  Form form = Form::kNumber;

  [[nodiscard]] bool is_date() const { return form != Form::kNumber || is_since_1970(); }

 private:
  // 2001-09-09 or later; a recording of 31 years is not plausible.
  [[nodiscard]] bool is_since_1970() const { return time >= SimTime{std::chrono::seconds{1'000'000'000}}; }
};

// Later times are refused: 64 bits of nanoseconds end in 2262.
inline constexpr SimTime kLatestLogTime{std::chrono::seconds{9'000'000'000}};

// Whether the field of an end says that nobody knows it: "", Unknown, None, NaN, NaT, null, n/a, -, open.
[[nodiscard]] bool is_unknown(std::string_view text);

// "2026-10-02T03:11:09", also with a space, without seconds or time, with decimals of a second, with Z or
// +02:00; or a number of `unit`s. Errors have no place; `column`: how messages call the field.
Result<LogTime> parse_log_time(std::string_view text, SimDuration unit, std::string_view column);

// A number of `unit`s, or with a unit of its own: "3h", "08:30:00", "1-02:03:04", "1 day, 2:03:04".
// Of less than 285 years.
Result<SimDuration> parse_log_duration(std::string_view text, SimDuration unit, std::string_view column);

// 2026-10-02 03:11:09 UTC. REQUIRES: time since 1970.
[[nodiscard]] std::string date_text(SimTime time);

}  // namespace goodput
