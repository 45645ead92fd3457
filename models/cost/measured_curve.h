// A positive quantity measured at ascending sizes, between and beyond them.
#pragma once

#include <span>
#include <vector>

namespace goodput {

struct CurvePoint {
  double size = 0;
  double value = 0;
};

class MeasuredCurve {
 public:
  // REQUIRES: at least one point, sizes ascending, sizes and values above 0.
  explicit MeasuredCurve(std::vector<CurvePoint> points);

  // Of points whose value cannot truly fall with size: where one does, the larger size shows that the smaller
  // one was delayed, and its value is taken. Delays only ever add.
  [[nodiscard]] static MeasuredCurve rising(std::vector<CurvePoint> points);

  // A straight line in logarithms of both between two points; the first value below, the last above the grid.
  [[nodiscard]] double clamped_at(double size) const;

  // The same, but above the grid alpha + beta * size through the last two points. One point: in proportion.
  [[nodiscard]] double extended_at(double size) const;

  [[nodiscard]] double first() const { return points_.front().value; }
  [[nodiscard]] std::span<const CurvePoint> points() const { return points_; }

 private:
  std::vector<CurvePoint> points_;
};

// The weight of `above` where `x` stands between two others on a logarithmic scale: 0 at `below`.
[[nodiscard]] double log_weight(double below, double x, double above);
[[nodiscard]] double log_mean(double below, double above, double weight_of_above);

}  // namespace goodput
