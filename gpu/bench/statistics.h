// What a set of measured times comes down to.
#pragma once

#include <cstddef>
#include <vector>

namespace goodput::gpu::bench {

// Quantiles are interpolated: quantile q of n ascending samples is at place q * (n - 1), counted from 0, on
// the line between the two samples around it. So the median of an even number is the mean of the middle two.
struct Statistics {
  std::size_t count = 0;
  double median = 0;
  double p05 = 0;
  double p95 = 0;
  double min = 0;
  double mean = 0;
  double cv = 0;  // standard deviation (n - 1) over mean; 0 for one sample or a mean of 0
};

// Throws std::invalid_argument where there are no samples or one is not finite.
[[nodiscard]] Statistics summarize(std::vector<double> samples);

// The coefficient of variation of the median: an estimate of its standard error, over the median. A quarter
// of the distance between the samples sqrt(n) places below and above the middle, which are two standard
// errors from it for any continuous distribution (the number of samples below the true median is binomial,
// n/2 +- sqrt(n)/2). Of half that width the estimate scatters so much that of a few looks one says by chance
// that it is enough. Places are clamped to the samples there are. 0 for a median of 0. Throws as summarize().
[[nodiscard]] double median_cv(std::vector<double> samples);

}  // namespace goodput::gpu::bench
