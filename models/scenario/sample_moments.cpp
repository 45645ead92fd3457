#include "models/scenario/sample_moments.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "sim/base/errors.h"

namespace goodput {
namespace {

constexpr std::int64_t kFewestToSeeSkew = 10;
constexpr double kCochran = 25;

// The sum of many values is off by more than one of them may differ from the mean; what is left over after a
// first guess is small, and so is the error of its sum.
double accurate_mean(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  GOODPUT_CHECK(std::isfinite(sum), "statistics need finite values");
  const double guess = sum / count;
  double rest = 0;
  for (const double value : values) rest += value - guess;
  return guess + rest / count;
}

}  // namespace

SampleMoments sample_moments(std::span<const double> values) {
  GOODPUT_CHECK(!values.empty(), "statistics need at least one value");
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  SampleMoments moments;
  moments.count = static_cast<std::int64_t>(values.size());
  moments.mean = std::clamp(accurate_mean(values), *least, *largest);
  moments.least = *least;
  const double farthest = std::max(*largest - moments.mean, moments.mean - *least);
  if (farthest == 0) return moments;
  // In a unit that is a power of two squares and cubes neither overflow nor round differently.
  const double unit = std::scalbn(1.0, std::ilogb(farthest));
  double squares = 0;
  double cubes = 0;
  for (const double value : values) {
    const double deviation = (value - moments.mean) / unit;
    squares += deviation * deviation;
    cubes += deviation * deviation * deviation;
  }
  const auto count = static_cast<double>(values.size());
  const double variance = squares / (count - 1);
  moments.standard_error = unit * std::sqrt(variance / count);
  if (values.size() > 2)
    moments.skewness = count / ((count - 1) * (count - 2)) * cubes / (variance * std::sqrt(variance));
  return moments;
}

double student_t(std::int64_t count) {
  GOODPUT_CHECK(count > 1, "Student's t needs at least two values");
  const boost::math::students_t distribution(static_cast<double>(count - 1));
  return boost::math::quantile(distribution, (1 + kConfidence) / 2);
}

std::optional<std::array<double, 2>> student_interval(const SampleMoments& moments) {
  if (moments.count == 1) return std::nullopt;
  const double half = student_t(moments.count) * moments.standard_error;
  return std::array{moments.mean - half, moments.mean + half};
}

bool is_doubtful(const SampleMoments& moments) {
  if (moments.standard_error == 0) return false;
  return moments.count < kFewestToSeeSkew ||
         static_cast<double>(moments.count) <= kCochran * moments.skewness * moments.skewness;
}

}  // namespace goodput
