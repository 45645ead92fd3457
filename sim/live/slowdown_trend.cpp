#include "sim/live/slowdown_trend.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

constexpr double kCertain = 5;
constexpr std::size_t kFewestValues = 4;

// Of all pairs: how many rise less how many fall, over what chance makes it deviate.
double mann_kendall_z(const std::vector<double>& values) {
  std::int64_t balance = 0;
  for (std::size_t j = 1; j < values.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) balance += (values[j] > values[i]) - (values[j] < values[i]);
  }
  const auto n = static_cast<double>(values.size());
  const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  if (balance == 0) return 0;
  return (static_cast<double>(balance) - (balance > 0 ? 1 : -1)) / deviation;  // for continuity
}

double median_slope(const std::vector<double>& values) {
  std::vector<double> slopes;
  slopes.reserve(values.size() * (values.size() - 1) / 2);
  for (std::size_t j = 1; j < values.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i)
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
  }
  return take_median(slopes);
}

// What is left of the values, squared, beside the best a + b * shape.
template <typename Shape>
double misfit(const std::vector<double>& values, Shape shape) {
  const double average = mean(values);
  const auto n = static_cast<double>(values.size());
  double x_sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) x_sum += shape(i);
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = shape(i) - x_sum / n;
    xx += x * x;
    xy += x * (values[i] - average);
    yy += (values[i] - average) * (values[i] - average);
  }
  return xy > 0 ? yy - xy * xy / xx : yy;
}

// Flat, then a step up or a line that rises, whichever fits best.
std::size_t onset_of_rise(const std::vector<double>& values) {
  double least = std::numeric_limits<double>::infinity();
  std::size_t onset = 0;
  for (std::size_t begin = 0; begin + 1 < values.size(); ++begin) {
    const double of_line =
        misfit(values, [begin](std::size_t i) { return i > begin ? static_cast<double>(i - begin) : 0.0; });
    const double of_step =
        begin == 0 ? of_line : misfit(values, [begin](std::size_t i) { return i >= begin ? 1.0 : 0.0; });
    if (std::min(of_line, of_step) >= least) continue;
    least = std::min(of_line, of_step);
    onset = begin;
  }
  return onset;
}

double median_of(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  std::vector<double> part(values.begin() + static_cast<std::ptrdiff_t>(begin),
                           values.begin() + static_cast<std::ptrdiff_t>(end));
  return take_median(part);
}

}  // namespace

std::optional<SlowdownTrend> find_rise(const std::vector<double>& values, double least) {
  if (values.size() < kFewestValues) return std::nullopt;
  SlowdownTrend trend;
  trend.z = mann_kendall_z(values);
  if (trend.z < kCertain) return std::nullopt;
  const double slope = median_slope(values);
  const auto length = static_cast<double>(values.size() - 1);
  std::vector<double> offsets(values);
  for (std::size_t i = 0; i < values.size(); ++i) offsets[i] -= slope * static_cast<double>(i);
  trend.rise = slope * length;
  trend.last = take_median(offsets) + slope * length;
  trend.onset = onset_of_rise(values);
  if (trend.onset > 0) {
    const double after = median_of(values, trend.onset, values.size());
    const double step = after - median_of(values, 0, trend.onset);
    if (step > trend.rise) {
      trend.rise = step;
      trend.last = after;
    }
  }
  if (trend.rise < least) return std::nullopt;
  return trend;
}

}  // namespace goodput
