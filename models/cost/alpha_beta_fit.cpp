#include "models/cost/alpha_beta_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace goodput {
namespace {

constexpr std::size_t kLeastOfSegment = 2;
// Sums of squares that differ by less a point are equal: what rounding makes of an exact fit.
constexpr double kEqualSums = 1e-12;

// What the best line through some points follows from: of a = 1 / value and b = size / value, alpha a + beta
// b is to be near 1.
struct LineSums {
  double aa = 0, ab = 0, bb = 0;
  double a = 0, b = 0;
  double points = 0;

  void add(const CurvePoint& point) {
    const double inverse = 1 / point.value;
    const double share = point.size / point.value;
    aa += inverse * inverse;
    ab += inverse * share;
    bb += share * share;
    a += inverse;
    b += share;
    ++points;
  }
  [[nodiscard]] double squares(double alpha, double beta) const {
    const double sum =
        alpha * alpha * aa + 2 * alpha * beta * ab + beta * beta * bb - 2 * (alpha * a + beta * b) + points;
    return std::max(0.0, sum);
  }
};

struct FittedLine {
  double alpha = 0;
  double beta = 0;
  double squares = std::numeric_limits<double>::infinity();
};

// Where the free optimum has a negative number, the best line lies where that number is 0; where a number
// makes no difference, it is 0, too.
FittedLine best_line(const LineSums& sums) {
  const double determinant = sums.aa * sums.bb - sums.ab * sums.ab;
  const FittedLine candidates[] = {{sums.a / sums.aa, 0},
                                   {0, sums.b / sums.bb},
                                   {(sums.a * sums.bb - sums.b * sums.ab) / determinant,
                                    (sums.b * sums.aa - sums.a * sums.ab) / determinant}};
  FittedLine best;
  for (const auto& [alpha, beta, unused] : candidates) {
    if (!(std::isfinite(alpha) && std::isfinite(beta) && alpha >= 0 && beta >= 0)) continue;
    const double squares = sums.squares(alpha, beta);
    if (squares < best.squares - kEqualSums * sums.points) best = {alpha, beta, squares};
  }
  return best;
}

// By how many points a line was made of: `result[count]`, of the first or, in reverse, of the last ones.
template <typename Iterator>
std::vector<double> squares_by_count(Iterator begin, Iterator end) {
  std::vector<double> result = {0};
  LineSums sums;
  for (Iterator point = begin; point != end; ++point) {
    sums.add(*point);
    result.push_back(best_line(sums).squares);
  }
  return result;
}

// How many points the first segment has.
std::size_t first_segment(std::span<const CurvePoint> points) {
  if (points.size() < 2 * kLeastOfSegment) return points.size();
  const std::vector<double> first = squares_by_count(points.begin(), points.end());
  const std::vector<double> last = squares_by_count(points.rbegin(), points.rend());
  const double equal = kEqualSums * static_cast<double>(points.size());
  std::size_t best = kLeastOfSegment;
  for (std::size_t count = best + 1; count + kLeastOfSegment <= points.size(); ++count) {
    const double least = first[best] + last[points.size() - best];
    if (first[count] + last[points.size() - count] < least - equal) best = count;
  }
  return best;
}

FittedSegment segment_of(std::span<const CurvePoint> points) {
  LineSums sums;
  for (const CurvePoint& point : points) sums.add(point);
  const FittedLine line = best_line(sums);
  FittedSegment segment{points.front().size, points.back().size, line.alpha, line.beta};
  for (const CurvePoint& point : points)
    segment.max_error = std::max(segment.max_error, std::abs(segment.at(point.size) / point.value - 1));
  return segment;
}

}  // namespace

std::vector<FittedSegment> fit_alpha_beta(std::span<const CurvePoint> points) {
  if (points.size() < kLeastOfSegment) return {};
  const std::size_t first = first_segment(points);
  std::vector<FittedSegment> segments = {segment_of(points.first(first))};
  if (first < points.size()) segments.push_back(segment_of(points.subspan(first)));
  return segments;
}

}  // namespace goodput
