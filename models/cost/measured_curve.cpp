#include "models/cost/measured_curve.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {

double log_weight(double below, double x, double above) {
  return std::log(x / below) / std::log(above / below);
}
double log_mean(double below, double above, double weight_of_above) {
  return std::exp((1 - weight_of_above) * std::log(below) + weight_of_above * std::log(above));
}

MeasuredCurve::MeasuredCurve(std::vector<CurvePoint> points) : points_(std::move(points)) {
  GOODPUT_CHECK(!points_.empty(), "a measured curve must have at least one point");
  double before = 0;
  for (const CurvePoint& point : points_) {
    GOODPUT_CHECK(point.size > before && point.value > 0, "points must be positive and in ascending order");
    before = point.size;
  }
}

MeasuredCurve MeasuredCurve::rising(std::vector<CurvePoint> points) {
  for (std::size_t index = points.size(); index-- > 1;)
    points[index - 1].value = std::min(points[index - 1].value, points[index].value);
  return MeasuredCurve(std::move(points));
}

double MeasuredCurve::clamped_at(double size) const {
  const auto above = std::lower_bound(points_.begin(), points_.end(), size,
                                      [](const CurvePoint& point, double x) { return point.size < x; });
  if (above == points_.end()) return points_.back().value;
  if (above == points_.begin() || above->size == size) return above->value;
  const CurvePoint& below = *std::prev(above);
  return log_mean(below.value, above->value, log_weight(below.size, size, above->size));
}

double MeasuredCurve::extended_at(double size) const {
  const CurvePoint& last = points_.back();
  if (size <= last.size) return clamped_at(size);
  if (points_.size() == 1) return last.value * size / last.size;
  const CurvePoint& before = points_[points_.size() - 2];
  return last.value + (size - last.size) * (last.value - before.value) / (last.size - before.size);
}

}  // namespace goodput
