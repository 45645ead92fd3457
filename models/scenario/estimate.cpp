#include "models/scenario/estimate.h"

#include <algorithm>

#include "models/scenario/sample_moments.h"

namespace goodput {
Estimate estimate_mean(std::span<const double> values) {
  const SampleMoments moments = sample_moments(values);
  Estimate estimate{moments.mean, student_interval(moments), is_doubtful(moments)};
  if (estimate.interval && moments.least >= 0)
    (*estimate.interval)[0] = std::max(0.0, (*estimate.interval)[0]);
  return estimate;
}

}  // namespace goodput
