// The times of a point and of a check, as a calibration file states them alike.
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "models/cost/stated_values.h"
#include "sim/base/errors.h"
#include "sim/config/config.h"

namespace goodput::measured {

// 0, or an error: times of wrong results are not valid.
[[nodiscard]] config::Value no_wrong_results();

[[nodiscard]] config::Fields joined(config::Fields first, const config::Fields& second);

// Of a point and of a check: what the machine was doing, and whether results are valid.
[[nodiscard]] config::Fields state_fields(double& sm_mhz, double& power_w, bool& is_unsteady);

template <typename Timed>
config::Fields time_fields(Timed& timed) {
  using config::Need;
  using stated::positive;
  return {
      {"median_us", Need::kRequired, config::number(timed.median_us, config::above(0)),
       "median time of one op, block or step"},
      {"p05_us", Need::kOptional, positive(timed.p05_us), "5th percentile of the times"},
      {"p95_us", Need::kOptional, positive(timed.p95_us), "95th percentile of the times"},
      {"min_us", Need::kOptional, positive(timed.min_us), "shortest time"},
      {"n", Need::kOptional, stated::count(timed.samples), "number of times that were measured"},
      {"cv", Need::kOptional, stated::not_negative(timed.cv),
       "standard deviation of the times divided by their mean"},
  };
}

template <typename Timed>
Status check_times(const Timed& timed) {
  const double least = std::max(timed.min_us, timed.p05_us);
  if (least > timed.median_us)
    return Error{fmt::format("must be at least p05_us and min_us ({1}), not {0}", timed.median_us, least),
                 {.pointer = "/median_us"}};
  if (timed.p95_us > 0 && timed.p95_us < timed.median_us)
    return Error{fmt::format("must be at least median_us ({1}), not {0}", timed.p95_us, timed.median_us),
                 {.pointer = "/p95_us"}};
  return Ok{};
}

}  // namespace goodput::measured
