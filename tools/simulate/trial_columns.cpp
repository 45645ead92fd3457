#include "tools/simulate/trial_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "models/scenario/trial_metrics.h"
#include "sim/job/time_bucket.h"

namespace goodput {
namespace {

std::optional<double> own_metric(const TrialSummary& trial, std::string_view name) {
  const auto found = std::find_if(trial.metrics.begin(), trial.metrics.end(),
                                  [name](const PolicyMetric& metric) { return metric.name == name; });
  return found == trial.metrics.end() ? std::nullopt : std::optional(found->value);
}

}  // namespace

std::vector<TrialColumn> trial_columns(const std::vector<std::string>& own) {
  std::vector<TrialColumn> columns;
  for (std::size_t i = 0; i < kTrialMetrics.size(); ++i) {
    const auto metric = static_cast<TrialMetric>(i);
    columns.push_back({std::string(info(metric).name),
                       [metric](const TrialSummary& trial) { return value_of(metric, trial); }});
  }
  columns.push_back({"horizon_s", [](const TrialSummary& trial) { return trial.horizon_s; }});
  columns.push_back({"waited_s", [](const TrialSummary& trial) { return std::optional(trial.waited_s); }});
  columns.push_back({"node_s", [](const TrialSummary& trial) { return std::optional(trial.paid_node_s()); }});
  columns.push_back(
      {"ideal_node_s", [](const TrialSummary& trial) { return std::optional(trial.ideal_node_s); }});
  for (std::size_t i = 0; i < kTimeBucketCount; ++i) {
    columns.push_back({fmt::format("{}_s", kTimeBuckets[i].name),
                       [i](const TrialSummary& trial) { return std::optional(trial.time_s[i]); }});
  }
  for (const std::string& name : own) {
    columns.push_back({name, [name](const TrialSummary& trial) { return own_metric(trial, name); }});
  }
  return columns;
}

std::vector<std::string> own_metrics(std::span<const TrialSummary> trials) {
  std::vector<std::string> names;
  if (trials.empty()) return names;
  for (const PolicyMetric& metric : trials.front().metrics) names.emplace_back(metric.name);
  return names;
}

}  // namespace goodput
