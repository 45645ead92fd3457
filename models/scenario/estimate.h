// What trials tell of a model: means, each with its 95 %
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

}  // namespace goodput
