#include "gpu/bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace goodput::gpu::bench {
namespace {

std::vector<double> sorted(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("statistics: no samples");
  for (const double sample : samples) {
    if (!std::isfinite(sample)) throw std::invalid_argument("statistics: a sample is not finite");
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

// The value at a place between 0 and n - 1.
double at_place(const std::vector<double>& ascending, double place) {
  const double last = static_cast<double>(ascending.size() - 1);
  const double clamped = std::clamp(place, 0.0, last);
  const auto low = static_cast<std::size_t>(clamped);
  const std::size_t high = std::min(low + 1, ascending.size() - 1);
  const double fraction = clamped - static_cast<double>(low);
  return ascending[low] + fraction * (ascending[high] - ascending[low]);
}

double quantile(const std::vector<double>& ascending, double q) {
  return at_place(ascending, q * static_cast<double>(ascending.size() - 1));
}

double deviation(const std::vector<double>& samples, double mean) {
  if (samples.size() < 2) return 0;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

}  // namespace

Statistics summarize(std::vector<double> samples) {
  const std::vector<double> ascending = sorted(std::move(samples));
  const double mean =
      std::accumulate(ascending.begin(), ascending.end(), 0.0) / static_cast<double>(ascending.size());
  Statistics statistics;
  statistics.count = ascending.size();
  statistics.median = quantile(ascending, 0.5);
  statistics.p05 = quantile(ascending, 0.05);
  statistics.p95 = quantile(ascending, 0.95);
  statistics.min = ascending.front();
  statistics.mean = mean;
  statistics.cv = mean == 0 ? 0 : deviation(ascending, mean) / mean;
  return statistics;
}

double median_cv(std::vector<double> samples) {
  const std::vector<double> ascending = sorted(std::move(samples));
  const double middle = static_cast<double>(ascending.size() - 1) / 2;
  const double reach = std::sqrt(static_cast<double>(ascending.size()));
  const double median = at_place(ascending, middle);
  if (median == 0) return 0;
  return (at_place(ascending, middle + reach) - at_place(ascending, middle - reach)) / 4 / median;
}

}  // namespace goodput::gpu::bench
