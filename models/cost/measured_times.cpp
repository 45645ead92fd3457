#include "models/cost/measured_times.h"

#include "sim/base/json.h"

namespace goodput::measured {

using config::Fields;

config::Value no_wrong_results() {
  const auto read = [](const Json& from, const config::Place& place) -> Status {
    if (from == 0) return Ok{};
    return place.error(
        fmt::format("must be 0, not {}: the times of a point with wrong results are not valid", from.dump()));
  };
  return {"0", read, {}, {}};
}

Fields joined(Fields first, const Fields& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Fields state_fields(double& sm_mhz, double& power_w, bool& is_unsteady) {
  using config::Need;
  return {
      {"nwrong", Need::kOptional, no_wrong_results(), "number of wrong values in the result"},
      {"sm_mhz", Need::kOptional, stated::positive(sm_mhz), "SM clock during the measurement"},
      {"power_w", Need::kOptional, stated::positive(power_w), "GPU power during the measurement"},
      {"unsteady", Need::kOptional, stated::flag(is_unsteady),
       "whether repeated rounds of measurements gave different times"},
  };
}

}  // namespace goodput::measured
