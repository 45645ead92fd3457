// Ratios of what trials tell of two models, or of two figures of one: of samples of two policies, of samples
// and hours.
//
// REQUIRES for all: values that are finite, one or more, and as many of both.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/scenario/estimate.h"

namespace goodput {

// The ratio of the means of paired values, not the mean of their ratios, with Fieller's interval (Journal of
// the Royal Statistical Society B 16, 1954); not below 0 where no value is. Where the mean of the divisors is
// not significantly different from 0 the interval is unbounded: none, and doubtful. Where all pairs have the
// same ratio it has no width. Nothing where the mean of the divisors is 0.
[[nodiscard]] std::optional<Estimate> estimate_ratio(std::span<const double> numerators,
                                                     std::span<const double> divisors);

// For differences and ratios of ratios: a value a trial, r + (a - r b) / mean(b), whose mean is the ratio of
// the means r and whose scatter is that of r to first order (the delta method). REQUIRES: a mean of the
// divisors that is not 0.
[[nodiscard]] std::vector<double> linearised_ratio(std::span<const double> numerators,
                                                   std::span<const double> divisors);

}  // namespace goodput
