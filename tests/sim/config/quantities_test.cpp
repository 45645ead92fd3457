#include "sim/config/quantities.h"

#include <doctest/doctest.h>

#include <string>

namespace goodput {
namespace {

std::string what_of(const auto& result) {
  REQUIRE_FALSE(result);
  return result.error().what;
}

}  // namespace

TEST_CASE("quantities: durations are seconds, or have a unit") {
  CHECK(parse_duration("90").value() == from_seconds(90));
  CHECK(parse_duration("90s").value() == from_seconds(90));
  CHECK(parse_duration("1.5h").value() == from_seconds(5400));
  CHECK(parse_duration("14d").value() == from_seconds(14 * 86400));
  CHECK(parse_duration("2w").value() == parse_duration("14d").value());
}

TEST_CASE("quantities: amounts have a factor") {
  CHECK(parse_amount("1e12").value() == 1e12);
  CHECK(parse_amount("700k").value() == 7e5);
  CHECK(parse_amount("1.25M").value() == 1.25e6);
  CHECK(parse_amount("15T").value() == 15e12);
}

TEST_CASE("quantities: limits say how likely they are to hold") {
  const Deadline deadline = parse_deadline("14d@99%").value();
  CHECK(deadline.value == from_seconds(14 * 86400));
  CHECK(deadline.probability == doctest::Approx(0.99));
  CHECK(parse_deadline("14d").value().probability == 0.95);
  CHECK(parse_budget("700k").value().probability == 0);  // of the mean
  CHECK(parse_budget("700k@0.9").value().probability == 0.9);
}

TEST_CASE("quantities: what is no quantity is refused with what is wanted") {
  CHECK(what_of(parse_duration("14 days")) ==
        R"(must be a duration in seconds, or with a unit as in 90m, 36h, 14d, 2w, not "14 days")");
  CHECK(
      what_of(parse_duration("-3d")) ==
      R"(must be a duration in seconds, or with a unit as in 90m, 36h, 14d, 2w, above 0 and at most 100 years, not "-3d")");
  CHECK(what_of(parse_amount("700K")) ==
        R"(must be a number, or with a suffix as in 700k, 1.2M, 3B, 15T, not "700K")");
  CHECK(what_of(parse_share("ten")) == R"(must be a share such as 10% or 0.1, not "ten")");
  CHECK(what_of(parse_deadline("14d@120%")) ==
        R"(must have a probability between 0 and 1 after the @ (for example 14d@95%), not "14d@120%")");
  CHECK(what_of(parse_budget("0")) ==
        R"(must be an amount in USD above 0, such as 700k or 700k@95%, not "0")");
}

}  // namespace goodput
