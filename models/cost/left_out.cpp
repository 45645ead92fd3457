#include "models/cost/left_out.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/cost/measured_curve.h"

namespace goodput {
namespace {

// Seconds or microseconds, as the neighbours' are.
double between(const MeasuredPoint& below, const MeasuredPoint& above, const MeasuredPoint& left_out) {
  const auto curve_point = [](const MeasuredPoint& point) {
    return CurvePoint{static_cast<double>(point.size()), point.median_us};
  };
  return MeasuredCurve({curve_point(below), curve_point(above)})
      .clamped_at(static_cast<double>(left_out.size()));
}

// Nothing where the neighbours are no family of 16-bit GEMMs.
std::optional<double> as_gemm(const Measurement& neighbours, const MeasuredPoint& left_out,
                              const GpuRatings& ratings) {
  Kernel kernel{
      .kind = Kernel::Kind::kGemm, .m = left_out.m, .n = neighbours.params.n, .k = neighbours.params.k};
  kernel.bytes =
      gemm_bytes(static_cast<double>(kernel.m), static_cast<double>(kernel.n), static_cast<double>(kernel.k));
  const std::optional<Cost> cost = GemmTable(std::span(&neighbours, 1), ratings).cost(kernel, ratings);
  if (!cost) return std::nullopt;
  return 1e6 * cost->seconds;
}

// Of the points from each one on, the shortest time: what a rising curve has there.
std::vector<double> least_from(const std::vector<MeasuredPoint>& points) {
  std::vector<double> least(points.size());
  double so_far = points.back().median_us;
  for (std::size_t index = points.size(); index-- > 0;)
    least[index] = so_far = std::min(so_far, points[index].median_us);
  return least;
}

}  // namespace

std::optional<LeftOutError> left_out_error(const Measurement& table,
                                           const std::optional<GpuRatings>& ratings) {
  const std::vector<MeasuredPoint>& points = table.points;
  if (points.size() < 3) return std::nullopt;
  const std::vector<double> least = least_from(points);
  const bool rises = points.front().bytes > 0;
  Measurement neighbours = table;
  LeftOutError error;
  for (std::size_t index = 1; index + 1 < points.size(); ++index) {
    neighbours.points = {points[index - 1], points[index + 1]};
    if (rises) {
      neighbours.points[1].median_us = least[index + 1];
      neighbours.points[0].median_us = std::min(points[index - 1].median_us, least[index + 1]);
    }
    std::optional<double> predicted;
    if (ratings) predicted = as_gemm(neighbours, points[index], *ratings);
    if (!predicted) predicted = between(neighbours.points[0], neighbours.points[1], points[index]);
    const double relative = std::abs(*predicted / points[index].median_us - 1);
    error.mean += relative;
    error.largest = std::max(error.largest, relative);
    ++error.points;
  }
  error.mean /= static_cast<double>(error.points);
  return error;
}

}  // namespace goodput
