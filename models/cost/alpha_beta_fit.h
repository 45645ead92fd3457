// Lines through measured times, for people: alpha + beta * size. Costs come from the points themselves.
//
// A segment is the line with alpha >= 0 and beta >= 0 for which the sum of ((alpha + beta * size) / value -
// 1)^2 is smallest. Four points or more are cut into two segments of at least two points, where both sums
// together are smallest (of equal cuts at the smallest size); the lines need not meet. One line through all
// sizes of the public H200 collectives is off by 20 to 44 %.
#pragma once

#include <span>
#include <vector>

#include "models/cost/measured_curve.h"

namespace goodput {

struct FittedSegment {
  double lo = 0, hi = 0;  // the sizes of its first and last point
  double alpha = 0;       // in the unit of the values
  double beta = 0;        // a unit of size
  double max_error = 0;   // the largest relative error at one of its points

  [[nodiscard]] double at(double size) const { return alpha + beta * size; }
};

// In ascending size: two, or one of fewer than four points, or none of fewer than two. REQUIRES: sizes
// ascending, sizes and values above 0.
[[nodiscard]] std::vector<FittedSegment> fit_alpha_beta(std::span<const CurvePoint> points);

}  // namespace goodput
