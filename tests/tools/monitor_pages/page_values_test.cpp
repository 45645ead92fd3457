#include "tools/monitor_pages/page_values.h"

#include <doctest/doctest.h>

#include <limits>

namespace goodput {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("page values: three digits that matter, and a unit") {
  CHECK(slowdown_text(1.2345) == "1.234×");
  CHECK(slowdown_text(12.345) == "12.35×");
  CHECK(share_text(0.2134) == "21.3 %");
  CHECK(seconds_text(0.0004) == "0.4 ms");
  CHECK(seconds_text(0.34) == "340 ms");
  CHECK(seconds_text(7.2) == "7.20 s");
  CHECK(seconds_text(12.34) == "12.3 s");
  CHECK(seconds_text(320) == "5 min 20 s");
  CHECK(seconds_text(12240) == "3.4 h");
  CHECK(seconds_text(216000) == "2.5 d");
  CHECK(seconds_text(-2) == "-2.00 s");
  CHECK(usd_text(12.3) == "$12.30");
  CHECK(usd_text(1234567.8) == "$1,234,568");
  CHECK(count_text(999) == "999");
  CHECK(count_text(-1234) == "-1,234");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(12'900'000) == "12.3 MiB");
}

TEST_CASE("page values: what is no number is a dash") {
  CHECK(slowdown_text(kNaN) == "–");
  CHECK(share_text(kNaN) == "–");
  CHECK(seconds_text(std::numeric_limits<double>::infinity()) == "–");
  CHECK(usd_text(kNaN) == "–");
  CHECK(time_html(kNaN) == "–");
}

TEST_CASE("page values: moments are UTC, for people and for programs") {
  CHECK(iso_time(1'700'000'000.9) == "2023-11-14T22:13:20Z");
  CHECK(time_html(1'700'000'000) == "<time datetime=\"2023-11-14T22:13:20Z\">2023-11-14 22:13:20 UTC</time>");
  CHECK(time_html(0) == "–");
  CHECK(iso_time(1e300) == "9999-12-31T23:59:59Z");
  CHECK(ago_text(100, 420) == "5 min 20 s ago");
  CHECK(ago_text(420, 100) == "now");
}

}  // namespace
}  // namespace goodput
