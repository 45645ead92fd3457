// Mean and median, with a fixed order of additions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace goodput {

// Of normal noise: the standard deviation over the median of its absolute size.
inline constexpr double kDeviationOfMedian = 1.4826;

// REQUIRES for both: values.

[[nodiscard]] inline double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of an even number of values the mean of the middle two. Reorders `values`.
[[nodiscard]] inline double take_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace goodput
