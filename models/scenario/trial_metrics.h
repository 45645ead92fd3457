// The measures of trials (models/scenario/trial_metrics.def): each a mean over trials, or a ratio of two such
// means, so that a table of them never contradicts itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/scenario/estimate.h"
#include "models/scenario/trial_summary.h"
#include "sim/base/errors.h"

namespace goodput {

enum class TrialMetric : std::uint8_t {
#define GOODPUT_TRIAL_METRIC(enumerator, name, better) enumerator,
#include "models/scenario/trial_metrics.def"
#undef GOODPUT_TRIAL_METRIC
};

enum class Better : std::uint8_t { kMore, kLess };

struct TrialMetricInfo {
  std::string_view name;
  Better better;
};
inline constexpr std::array kTrialMetrics = {
#define GOODPUT_TRIAL_METRIC(enumerator, name, better) TrialMetricInfo{name, Better::better},
#include "models/scenario/trial_metrics.def"
#undef GOODPUT_TRIAL_METRIC
};
[[nodiscard]] constexpr const TrialMetricInfo& info(TrialMetric metric) {
  return kTrialMetrics[static_cast<std::size_t>(metric)];
}
// Fails, with did-you-mean, on an unknown name.
[[nodiscard]] Result<TrialMetric> find_trial_metric(std::string_view name);

// Of a single trial: of a metric that is a ratio its own, so that the mean of many is not the metric. None
// where it has no such value.
[[nodiscard]] std::optional<double> value_of(TrialMetric metric, const TrialSummary& trial);

// A value a trial, whose mean is the metric: of a ratio linearised_ratio(). None where some trial has no such
// value: it did not finish, nothing has a price. REQUIRES for both: trials.
[[nodiscard]] std::optional<std::vector<double>> values_of(TrialMetric metric,
                                                           std::span<const TrialSummary> trials);
[[nodiscard]] std::optional<Estimate> estimate_of(TrialMetric metric, std::span<const TrialSummary> trials);

}  // namespace goodput
