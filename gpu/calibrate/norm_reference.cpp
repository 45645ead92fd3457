#include "gpu/calibrate/norm_reference.h"

#include <cmath>

namespace goodput::gpu::calibrate {
namespace {

constexpr double kOfValue = 1.0 / 256;
constexpr double kOfSummand = 1e-5;
constexpr double kOfRoot = 1.0 / 4096;

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

NormedRow reference_norm(NormKind kind, const std::vector<double>& x) {
  const double mean = kind == NormKind::kLayer ? mean_of(x) : 0;
  std::vector<double> squares;
  for (const double value : x) squares.push_back((value - mean) * (value - mean));
  NormedRow row{mean, 1 / std::sqrt(mean_of(squares) + double{kNormEpsilon}), {}};
  for (const double value : x) row.normal.push_back((value - mean) * row.rstd);
  return row;
}

std::vector<double> reference_norm_forward(const NormedRow& row, const std::vector<double>& weight,
                                           const std::vector<double>& bias) {
  std::vector<double> y;
  for (std::size_t i = 0; i < weight.size(); ++i) y.push_back(row.normal[i] * weight[i] + bias[i]);
  return y;
}

std::vector<double> reference_norm_backward(NormKind kind, const NormedRow& row,
                                            const std::vector<double>& weight,
                                            const std::vector<double>& dy) {
  std::vector<double> g;
  std::vector<double> gn;
  for (std::size_t i = 0; i < dy.size(); ++i) {
    g.push_back(dy[i] * weight[i]);
    gn.push_back(g[i] * row.normal[i]);
  }
  const double mean_g = kind == NormKind::kLayer ? mean_of(g) : 0;
  const double mean_gn = mean_of(gn);
  std::vector<double> dx;
  for (std::size_t i = 0; i < dy.size(); ++i)
    dx.push_back(row.rstd * (g[i] - mean_g - row.normal[i] * mean_gn));
  return dx;
}

// Not of a NaN.
bool is_normed_right(double found, double expected) {
  return std::abs(found - expected) <= kOfValue * std::abs(expected) + kOfSummand;
}

bool is_summed_right(double found, double expected, double root_of_squares) {
  return std::abs(found - expected) <= kOfValue * std::abs(expected) + kOfRoot * root_of_squares;
}

}  // namespace goodput::gpu::calibrate
