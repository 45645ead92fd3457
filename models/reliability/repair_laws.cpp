#include "models/reliability/repair_laws.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

namespace goodput {
namespace {

struct Sums {
  double complete = 0;  // number of
  double total = 0;     // seconds, of all
  double log_sum = 0;   // of the complete ones
  double longest = 0;
  bool differ = false;  // complete times do
};

Sums sums_of(std::span<const RepairTime> times) {
  Sums sums;
  std::optional<double> first;
  for (const RepairTime& time : times) {
    sums.total += time.seconds;
    sums.longest = std::max(sums.longest, time.seconds);
    if (!time.is_complete) continue;
    sums.complete += 1;
    sums.log_sum += std::log(time.seconds);
    if (!first) first = time.seconds;
    sums.differ |= time.seconds != *first;
  }
  return sums;
}

RepairFit fit_exponential(const Sums& sums) {
  const double mean = sums.total / sums.complete;
  return {RepairLaw::kExponential, mean, 0, -sums.complete * std::log(mean) - sums.complete, 0};
}

// d ln L / d shape, over the number of complete times, with the scale at its best for that shape. Falls with
// the shape.
double weibull_slope(std::span<const RepairTime> times, const Sums& sums, double shape) {
  double weight = 0;
  double weighted = 0;
  for (const RepairTime& time : times) {  // over the longest one: powers stay finite
    const double power = std::pow(time.seconds / sums.longest, shape);
    weight += power;
    weighted += power * std::log(time.seconds);
  }
  return 1 / shape + sums.log_sum / sums.complete - weighted / weight;
}

std::optional<RepairFit> fit_weibull(std::span<const RepairTime> times, const Sums& sums) {
  constexpr double kLeast = 0.02, kMost = 200;
  double low = kLeast;
  double high = kMost;
  if (weibull_slope(times, sums, low) < 0 || weibull_slope(times, sums, high) > 0) return std::nullopt;
  for (int i = 0; i < 80; ++i) {
    const double middle = std::sqrt(low * high);
    (weibull_slope(times, sums, middle) > 0 ? low : high) = middle;
  }
  const double shape = low;
  double powers = 0;
  for (const RepairTime& time : times) powers += std::pow(time.seconds / sums.longest, shape);
  const double scale = sums.longest * std::pow(powers / sums.complete, 1 / shape);
  const double log_likelihood = sums.complete * (std::log(shape) - shape * std::log(scale)) +
                                (shape - 1) * sums.log_sum - sums.complete;
  return RepairFit{RepairLaw::kWeibull, scale * std::tgamma(1 + 1 / shape), shape, log_likelihood, 0};
}

constexpr double kHalfLogTwoPi = 0.91893853320467274;

// ln of the probability that a standard normal is above z.
double log_above(double z) {
  return std::log(std::max(0.5 * std::erfc(z / std::numbers::sqrt2), std::numeric_limits<double>::min()));
}

// Expectation-maximization: censored logarithms are replaced by their mean and variance beyond the censoring.
RepairFit fit_lognormal(std::span<const RepairTime> times, const Sums& sums) {
  const auto count = static_cast<double>(times.size());
  double mean = sums.log_sum / sums.complete;
  double square = 0;
  for (const RepairTime& time : times) {
    if (time.is_complete) square += std::pow(std::log(time.seconds) - mean, 2);
  }
  double deviation = std::sqrt(square / sums.complete);
  const int rounds = sums.complete < count ? 200 : 0;
  for (int round = 0; round < rounds; ++round) {
    double first = 0;
    double second = 0;
    for (const RepairTime& time : times) {
      double value = std::log(time.seconds);
      double variance = 0;
      if (!time.is_complete) {
        const double z = (value - mean) / deviation;
        const double hazard = std::exp(-z * z / 2 - kHalfLogTwoPi - log_above(z));
        value = mean + deviation * hazard;
        variance = deviation * deviation * std::max(0.0, 1 + z * hazard - hazard * hazard);
      }
      first += value;
      second += value * value + variance;
    }
    const double next_mean = first / count;
    const double next_deviation = std::sqrt(std::max(second / count - next_mean * next_mean, 1e-12));
    const bool is_settled = std::abs(next_mean - mean) + std::abs(next_deviation - deviation) < 1e-10;
    mean = next_mean;
    deviation = next_deviation;
    if (is_settled) break;
  }
  double log_likelihood = 0;
  for (const RepairTime& time : times) {
    const double value = std::log(time.seconds);
    const double z = (value - mean) / deviation;
    log_likelihood +=
        time.is_complete ? -value - std::log(deviation) - kHalfLogTwoPi - z * z / 2 : log_above(z);
  }
  return {RepairLaw::kLognormal, std::exp(mean + deviation * deviation / 2), deviation, log_likelihood, 0};
}

// Ascending; of equal ones the complete ones first.
std::vector<RepairTime> sorted_times(std::span<const RepairTime> times) {
  std::vector<RepairTime> sorted(times.begin(), times.end());
  std::sort(sorted.begin(), sorted.end(), [](const RepairTime& a, const RepairTime& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.is_complete && !b.is_complete;
  });
  return sorted;
}

}  // namespace

std::vector<RepairFit> fit_repair_laws(std::span<const RepairTime> times) {
  const Sums sums = sums_of(times);
  std::vector<RepairFit> fits;
  if (sums.complete == 0) return fits;
  fits.push_back(fit_exponential(sums));
  if (sums.differ) {
    if (const auto weibull = fit_weibull(times, sums)) fits.push_back(*weibull);
    fits.push_back(fit_lognormal(times, sums));
  }
  for (RepairFit& fit : fits) {
    const double parameters = fit.law == RepairLaw::kExponential ? 1 : 2;
    fit.bic = parameters * std::log(static_cast<double>(times.size())) - 2 * fit.log_likelihood;
  }
  std::stable_sort(fits.begin(), fits.end(),
                   [](const RepairFit& a, const RepairFit& b) { return a.bic < b.bic; });
  return fits;
}

double mean_repair(std::span<const RepairTime> times) {
  const std::vector<RepairTime> sorted = sorted_times(times);
  double mean = 0;
  double still_down = 1;
  double before = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    mean += still_down * (sorted[i].seconds - before);
    before = sorted[i].seconds;
    if (sorted[i].is_complete) still_down *= 1 - 1 / static_cast<double>(sorted.size() - i);
  }
  return mean;
}

double median_repair(std::span<const RepairTime> times) {
  const std::vector<RepairTime> sorted = sorted_times(times);
  double still_down = 1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (!sorted[i].is_complete) continue;
    const double at_risk = static_cast<double>(sorted.size() - i);
    still_down *= 1 - 1 / at_risk;
    if (still_down > 0.5 + 1e-12) continue;
    if (still_down < 0.5 - 1e-12) return sorted[i].seconds;
    const auto next = std::find_if(sorted.begin() + static_cast<std::ptrdiff_t>(i) + 1, sorted.end(),
                                   [](const RepairTime& time) { return time.is_complete; });
    return next == sorted.end() ? sorted[i].seconds : (sorted[i].seconds + next->seconds) / 2;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace goodput
