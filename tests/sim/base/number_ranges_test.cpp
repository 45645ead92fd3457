#include "sim/base/number_ranges.h"

#include <doctest/doctest.h>

#include "tests/support/analysed_trace.h"

namespace goodput {

TEST_CASE("number ranges: lists, ranges and negative numbers are read, everything else is refused") {
  const auto ranges = testing::value_or_throw(parse_number_ranges("12,20-23,-5,-3--1"));
  REQUIRE(ranges.size() == 4);
  CHECK(ranges[1].first == 20);
  CHECK(ranges[1].last == 23);
  CHECK(ranges[2].first == -5);
  CHECK(ranges[3].last == -1);
  for (const char* bad : {"", ",", "1,", "1-", "-", "1 ", "99999999999999999999", "1-2-3"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_number_ranges(bad));
  }
}

}  // namespace goodput
