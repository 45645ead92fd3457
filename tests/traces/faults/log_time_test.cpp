// Dates, numbers and durations of failure logs.
#include "traces/faults/log_time.h"

#include <doctest/doctest.h>

#include <array>
#include <string_view>

namespace goodput::testing {
namespace {

constexpr SimDuration kSecond = std::chrono::seconds{1};

double seconds_of(std::string_view text, SimDuration unit = kSecond) {
  const auto time = parse_log_time(text, unit, "start");
  REQUIRE_MESSAGE(time, (time ? "" : time.error().what));
  return to_seconds(time->time);
}

double duration_of(std::string_view text, SimDuration unit = kSecond) {
  const auto duration = parse_log_duration(text, unit, "down");
  REQUIRE_MESSAGE(duration, (duration ? "" : duration.error().what));
  return to_seconds(*duration);
}

}  // namespace

TEST_CASE("log times: dates of every ISO form are the same moment") {
  // date -u -d 2026-10-02T03:11:09 +%s
  constexpr double kMoment = 1790910669;
  for (const std::string_view text :
       {"2026-10-02T03:11:09", "2026-10-02 03:11:09", "2026/10/02 03:11:09", "2026-10-02T03:11:09Z",
        "2026-10-02T05:11:09+02:00", "2026-10-01T20:11:09-0700", "2026-10-02 03:11:09 UTC",
        "2026-10-02T05:11:09+02"}) {
    CAPTURE(text);
    CHECK(seconds_of(text) == kMoment);
  }
  CHECK(parse_log_time("2026-10-02T03:11:09.25", kSecond, "start")->time ==
        SimTime{std::chrono::milliseconds{1790910669250}});
  CHECK(seconds_of("2026-10-02T03:11") == kMoment - 9);
  CHECK(seconds_of("2026-10-02") == kMoment - 3 * 3600 - 11 * 60 - 9);
  CHECK(date_text(SimTime{std::chrono::seconds{1790910669}}) == "2026-10-02 03:11:09");
}

TEST_CASE("log times: numbers are in the unit of their column, and large ones count from 1970") {
  CHECK(seconds_of("90.5") == 90.5);
  CHECK(seconds_of("90500", std::chrono::milliseconds{1}) == 90.5);
  CHECK(seconds_of("2", std::chrono::hours{1}) == 7200);
  CHECK_FALSE(parse_log_time("86400", kSecond, "t")->is_date());
  CHECK(parse_log_time("1790910669", kSecond, "t")->is_date());
}

TEST_CASE("log times: text that is not a time is refused") {
  const auto error = [](std::string_view text) {
    const auto time = parse_log_time(text, kSecond, "start");
    REQUIRE_FALSE(time);
    return time.error().what;
  };
  for (const std::string_view text :
       {"yesterday", "10/02/2026", "2026-13-01", "2026-02-30", "2026-10-02T25:00:00", "2026-10-02T03:61:00",
        "2026-10-02T03:11:09 CET", "2026-10-02T03:11:09+99:00"}) {
    CHECK(error(text) == "start must be a date like 2026-10-02T03:11:09 or a number of seconds, not \"" +
                             std::string(text) + "\"");
  }
  CHECK(error("-5") == "start is -5, but times must not be negative");
  CHECK(error("1790910669000") ==
        "start is 1790910669000 s, which is after the year 2250; if it is in milliseconds, call the column "
        "start_ms");
}

TEST_CASE("log times: durations are numbers, quantities, or clock times with or without days") {
  CHECK(duration_of("90") == 90);
  CHECK(duration_of("1.5", std::chrono::hours{1}) == 5400);
  CHECK(duration_of("3h") == 3 * 3600);
  CHECK(duration_of("08:30:00") == 8.5 * 3600);
  CHECK(duration_of("1-02:30") == 86400 + 2.5 * 3600);
  CHECK(duration_of("1,5", std::chrono::hours{1}) == 5400);
  CHECK(duration_of("1-02:03:04") == 93784);
  CHECK(duration_of("1 day, 2:03:04") == 93784);
  CHECK(duration_of("1 days 02:03:04.5") == 93784.5);
  CHECK(duration_of("120:00:00") == 120 * 3600);
  // "08:30" may be hours and minutes or minutes and seconds.
  for (const std::string_view text :
       {"long", "08:30", "-5", "1:99:00", "999999999:00:00", "9000000000", "400-"}) {
    CAPTURE(text);
    const auto wrong = parse_log_duration(text, kSecond, "down");
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().what ==
          "down must be a duration such as 3600, 1h or 01:00:00 (hours:minutes:seconds), not \"" +
              std::string(text) + "\"");
  }
}

TEST_CASE("log times: words for an end that nobody knows") {
  for (const std::string_view text : {"", "Unknown", "None", "NaN", "NaT", "null", "n/a", "-", "ongoing"})
    CHECK(is_unknown(text));
  CHECK_FALSE(is_unknown("2026-10-02"));
}

}  // namespace goodput::testing
