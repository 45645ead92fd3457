// What trials tell of a model: means, probabilities and quantiles, each with its 95 %
// confidence interval. docs/validation.md has how often the intervals cover the truth.
//
// REQUIRES for all: values that are finite, one or more.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace goodput {

struct Estimate {
  double mean = 0;                                  // or what else is estimated
  std::optional<std::array<double, 2>> interval{};  // none of a single trial, and where it is unbounded
  bool is_doubtful = false;  // values so few or so skewed that the interval may cover much less than 95 %
};

// Student's interval; not below 0 where no value is.
[[nodiscard]] Estimate estimate_mean(std::span<const double> values);

// The probability of what `hits` of `trials` showed, with the interval of Clopper and Pearson (Biometrika 26,
// 1934): it covers 95 % or more whatever the probability, so one of a single trial is there too.
// REQUIRES: 0 <= hits <= trials, trials > 0.
[[nodiscard]] Estimate estimate_share(std::int64_t hits, std::int64_t trials);

// The quantile by linear interpolation between order statistics (type 7 of Hyndman and Fan, The American
// Statistician 50, 1996), with an interval from one order statistic to another (David and Nagaraja, Order
// Statistics, 3rd edition 2003, section 7.1): it covers 95 % or more whatever the distribution. None where
// even the least and the largest value cover less. REQUIRES: 0 < probability < 1.
[[nodiscard]] Estimate estimate_quantile(std::span<const double> values, double probability);

}  // namespace goodput
