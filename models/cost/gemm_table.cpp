#include "models/cost/gemm_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace goodput {
namespace {

constexpr double kStartUpSeconds =
    3e-6;  // of a GEMM kernel and its last wave; best of 0..5 on the H200 table
constexpr std::size_t kFamilies = 3;
constexpr double kBytesAValue = 2;

double bound(double m, double n, double k, double bytes, GpuRatings ratings) {
  const double compute = 2 * m * n * k / ratings.flops_per_second;
  return std::max(compute, bytes / ratings.bytes_per_second) + kStartUpSeconds;
}

bool is_plain_16_bit_gemm(const Measurement& measurement) {
  const MeasuredType type = measurement.params.dtype;
  return measurement.op == MeasuredOp::kGemm && is_plain(measurement) &&
         (type == MeasuredType::kBf16 || type == MeasuredType::kFp16);
}

MeasuredCurve ratio_curve(const Measurement& measurement, GpuRatings ratings) {
  const auto n = static_cast<double>(measurement.params.n);
  const auto k = static_cast<double>(measurement.params.k);
  std::vector<CurvePoint> points;
  for (const MeasuredPoint& point : measurement.points) {
    const auto m = static_cast<double>(point.m);
    points.push_back({m, 1e-6 * point.median_us / bound(m, n, k, gemm_bytes(m, n, k), ratings)});
  }
  return MeasuredCurve(std::move(points));
}

bool is_in_table(const MeasuredCurve& curve, double m) {
  return m >= curve.points().front().size && m <= curve.points().back().size;
}

}  // namespace

double gemm_bytes(double m, double n, double k) {
  return kBytesAValue * (m * k + k * n + m * n);
}

GemmTable::GemmTable(std::span<const Measurement> measurements, GpuRatings measured_on) {
  for (const Measurement& measurement : measurements) {
    if (!is_plain_16_bit_gemm(measurement)) continue;
    families_.push_back({static_cast<double>(measurement.params.n), static_cast<double>(measurement.params.k),
                         ratio_curve(measurement, measured_on), measurement.tier});
  }
}

std::vector<GemmTable::Near> GemmTable::nearest(const Kernel& kernel) const {
  std::vector<Near> near;
  for (const Family& family : families_) {
    near.push_back({std::hypot(std::log(static_cast<double>(kernel.n) / family.n),
                               std::log(static_cast<double>(kernel.k) / family.k)),
                    &family});
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const Near& a, const Near& b) { return a.distance < b.distance; });
  near.resize(std::min(near.size(), near.front().distance == 0 ? 1 : kFamilies));
  return near;
}

bool GemmTable::can_price(const Kernel& kernel) const {
  const bool has_shape = kernel.m > 0 && kernel.n > 0 && kernel.k > 0;
  return !families_.empty() && kernel.kind == Kernel::Kind::kGemm && kernel.precision == Precision::kBf16 &&
         kernel.batch == 1 && has_shape;
}

bool GemmTable::has_measured(const Kernel& kernel) const {
  if (!can_price(kernel)) return false;
  const Near nearest_family = nearest(kernel).front();
  return nearest_family.distance == 0 &&
         is_in_table(nearest_family.family->ratio, static_cast<double>(kernel.m));
}

std::optional<Cost> GemmTable::cost(const Kernel& kernel, GpuRatings ratings) const {
  if (!can_price(kernel)) return std::nullopt;
  const auto m = static_cast<double>(kernel.m);
  const std::vector<Near> near = nearest(kernel);
  Cost cost{.seconds = 0, .tier = near.front().distance == 0 ? Tier::kMeasured : Tier::kModel};
  double weights = 0;
  double log_ratio = 0;
  for (const auto& [distance, family] : near) {
    const double weight = distance > 0 ? 1 / (distance * distance) : 1;
    log_ratio += weight * std::log(family->ratio.clamped_at(m));
    weights += weight;
    cost.tier = lowest(cost.tier, family->tier);
    if (!is_in_table(family->ratio, m)) cost.tier = lowest(cost.tier, Tier::kModel);
  }
  cost.seconds = std::exp(log_ratio / weights) * bound(m, static_cast<double>(kernel.n),
                                                       static_cast<double>(kernel.k), kernel.bytes, ratings);
  return cost;
}

}  // namespace goodput
