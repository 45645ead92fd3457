// Which of two policies does better on the same failures, and how many trials it takes to say so.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "models/scenario/estimate.h"

namespace goodput {

struct PairedComparison {
  Estimate a{}, b{};
  Estimate difference{};  // a - b, trial by trial: what the failures do to both cancels
  bool decides = false;   // the interval of the difference excludes 0
  // Until it would, if the difference and its scatter stay as they are. None where it decides, where the
  // difference is 0, of a single trial, and where it would take more than 10^12.
  std::optional<std::int64_t> more_trials{};
};

// Of a metric that is a ratio, give it linearised_ratio(). REQUIRES: as many finite values of both, one or
// more.
[[nodiscard]] PairedComparison compare_paired(std::span<const double> a, std::span<const double> b);

}  // namespace goodput
