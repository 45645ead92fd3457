#include "models/scenario/ratio_estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "models/scenario/sample_moments.h"
#include "sim/base/errors.h"

namespace goodput {
namespace {

// A few roundings: of the mean of either and of a product. Pairs in exact proportion have no scatter then.
constexpr double kRounding = 8 * std::numeric_limits<double>::epsilon();

// A ratio of means r, and (a - r b) / mean(b) of every pair.
struct LinearisedPairs {
  double ratio = 0;
  std::vector<double> residuals{};
};

// None where the mean of the divisors is 0, or so small that the ratio overflows.
std::optional<LinearisedPairs> linearise(std::span<const double> numerators, std::span<const double> divisors,
                                         double mean_numerator, double mean_divisor) {
  LinearisedPairs pairs{.ratio = mean_numerator / mean_divisor};
  if (!std::isfinite(pairs.ratio)) return std::nullopt;
  pairs.residuals.reserve(numerators.size());
  for (std::size_t i = 0; i < numerators.size(); ++i) {
    const double expected = pairs.ratio * divisors[i];
    const double residual = numerators[i] - expected;
    const bool is_rounding = std::abs(residual) <= kRounding * std::abs(expected);
    pairs.residuals.push_back(is_rounding ? 0 : residual / mean_divisor);
  }
  return pairs;
}

// Of the means of paired values.
double covariance(std::span<const double> x, std::span<const double> y, double mean_x, double mean_y) {
  const auto count = static_cast<double>(x.size());
  double products = 0;
  for (std::size_t i = 0; i < x.size(); ++i) products += (x[i] - mean_x) * (y[i] - mean_y);
  return products / (count - 1) / count;
}

// All rho with |mean(a - rho b)| <= t times its standard error. With rho = r + d, x = (a - r b) / mean(b) and
// y = b / mean(b) that is d^2 (1 - g) + 2 h d - t^2 var(x) <= 0, g = t^2 var(y), h = t^2 cov(x, y), of the
// means: nothing large cancels. Unbounded where g >= 1, unless no pair leaves a doubt about the ratio.
std::optional<std::array<double, 2>> fieller_interval(const LinearisedPairs& pairs, const SampleMoments& x,
                                                      std::span<const double> divisors, double mean_divisor) {
  if (x.standard_error == 0) return std::array{pairs.ratio, pairs.ratio};
  std::vector<double> scaled(divisors.begin(), divisors.end());
  for (double& value : scaled) value /= mean_divisor;
  const SampleMoments y = sample_moments(scaled);
  const double t = student_t(x.count);
  const double bounded = 1 - t * y.standard_error * (t * y.standard_error);
  if (!(bounded > 0)) return std::nullopt;
  const double h = t * t * covariance(pairs.residuals, scaled, x.mean, y.mean);
  const double root = std::hypot(h, std::sqrt(bounded) * t * x.standard_error);
  return std::array{pairs.ratio - (root + h) / bounded, pairs.ratio + (root - h) / bounded};
}

}  // namespace

std::optional<Estimate> estimate_ratio(std::span<const double> numerators, std::span<const double> divisors) {
  GOODPUT_CHECK(numerators.size() == divisors.size(), "a ratio needs paired values");
  const SampleMoments a = sample_moments(numerators);
  const SampleMoments b = sample_moments(divisors);
  const auto pairs = linearise(numerators, divisors, a.mean, b.mean);
  if (!pairs) return std::nullopt;
  Estimate estimate{.mean = pairs->ratio};
  if (a.count == 1) return estimate;
  const SampleMoments residuals = sample_moments(pairs->residuals);
  estimate.interval = fieller_interval(*pairs, residuals, divisors, b.mean);
  estimate.is_doubtful = !estimate.interval || is_doubtful(residuals);
  if (estimate.interval && a.least >= 0 && b.least >= 0)
    (*estimate.interval)[0] = std::max(0.0, (*estimate.interval)[0]);
  return estimate;
}

std::vector<double> linearised_ratio(std::span<const double> numerators, std::span<const double> divisors) {
  GOODPUT_CHECK(numerators.size() == divisors.size(), "a ratio needs paired values");
  auto pairs =
      linearise(numerators, divisors, sample_moments(numerators).mean, sample_moments(divisors).mean);
  GOODPUT_CHECK(pairs.has_value(), "a ratio needs a mean other than 0");
  for (double& value : pairs->residuals) value += pairs->ratio;
  return std::move(pairs->residuals);
}

}  // namespace goodput
