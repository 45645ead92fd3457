// Values between and beyond what was measured.
#include "models/cost/measured_curve.h"

#include <doctest/doctest.h>

#include "sim/base/errors.h"

namespace goodput {

using doctest::Approx;

TEST_CASE("measured curve: straight in logarithms between points, the points themselves as measured") {
  const MeasuredCurve curve({{1, 2}, {100, 8}});
  CHECK(curve.clamped_at(1) == 2);
  CHECK(curve.clamped_at(10) == Approx(4));  // half way from 1 to 100, the geometric mean of 2 and 8
  CHECK(curve.clamped_at(100) == 8);
}

TEST_CASE(
    "measured curve: the first value below the grid; above it the last, or the line of the last two points") {
  const MeasuredCurve curve({{1, 5}, {10, 6}, {20, 10}});
  CHECK(curve.clamped_at(0.1) == 5);
  CHECK(curve.extended_at(0) == 5);
  CHECK(curve.clamped_at(40) == 10);
  CHECK(curve.extended_at(40) == Approx(18));  // alpha 2, beta 0.4
  CHECK(curve.extended_at(15) == curve.clamped_at(15));
  CHECK(MeasuredCurve({{8, 4}}).extended_at(16) == 8);
}

TEST_CASE("measured curve: a value above that of a larger size was a delay") {
  const MeasuredCurve curve = MeasuredCurve::rising({{1, 9}, {2, 5}, {4, 7}, {8, 6}});
  CHECK(curve.first() == 5);
  CHECK(curve.clamped_at(4) == 6);
  CHECK(curve.extended_at(16) == 6);
}

TEST_CASE("measured curve: points that no reader lets through are our bug") {
  CHECK_THROWS_AS(MeasuredCurve({}), InternalError);
  CHECK_THROWS_AS(MeasuredCurve({{2, 1}, {2, 1}}), InternalError);
  CHECK_THROWS_AS(MeasuredCurve({{2, 0}}), InternalError);
}

}  // namespace goodput
