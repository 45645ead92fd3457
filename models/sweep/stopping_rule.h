// How exact a result has to be before no more trials are run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "models/scenario/estimate.h"
#include "models/scenario/trial_metrics.h"
#include "models/scenario/trial_summary.h"
#include "sim/base/errors.h"

namespace goodput {

// Of fewer trials no interval says enough to stop by it.
inline constexpr std::int64_t kLeastRuleTrials = 20;

// The 95 % interval of a metric, or of the ratio of two policies' that faced the same failures, is to end
// within so many percent of the mean, and to be one that can be trusted (Estimate::is_doubtful).
class StoppingRule {
 public:
  // "cost±0.2%" or "cost:lazarus/ds+-0.2%". The Error has no place.
  static Result<StoppingRule> parse(std::string_view text);

  // As it was given, with ±.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] TrialMetric metric() const { return metric_; }
  // "A/B"; empty: of every policy by itself.
  [[nodiscard]] const std::string& policies() const { return policies_; }

  // REQUIRES for both: trials; as many of both policies. None where some trial has no such value.
  [[nodiscard]] std::optional<Estimate> estimate(std::span<const TrialSummary> trials) const;
  [[nodiscard]] std::optional<Estimate> estimate(std::span<const TrialSummary> a,
                                                 std::span<const TrialSummary> b) const;

  // How far the farther end of the interval is from the mean, over what it may be: at most 1 once it is
  // reached. Infinite where there is no interval.
  [[nodiscard]] double excess(const Estimate& estimate) const;
  [[nodiscard]] bool is_reached(const Estimate& estimate) const {
    return !estimate.is_doubtful && excess(estimate) <= 1;
  }
  // "cost ±0.31 %, not ±0.2 %".
  [[nodiscard]] std::string shortfall(const std::optional<Estimate>& estimate) const;

 private:
  TrialMetric metric_ = TrialMetric::kCost;
  std::string policies_{};
  std::string percent_{};  // as given
  double within_ = 0;      // of the mean
};

}  // namespace goodput
