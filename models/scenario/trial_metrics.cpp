#include "models/scenario/trial_metrics.h"

#include <algorithm>

#include "models/scenario/ratio_estimate.h"
#include "sim/base/registry.h"

namespace goodput {
namespace {

using OfTrial = double (*)(const TrialSummary&);
using IsKnown = bool (*)(const TrialSummary&);

// A mean of values, or a ratio of two means, where all trials have them.
struct Measure {
  OfTrial value = nullptr;
  OfTrial divisor = nullptr;   // none: a mean
  IsKnown is_known = nullptr;  // none: always
  bool is_share = false;       // of trials: values are 0 and 1
};

template <auto kMember>
double member(const TrialSummary& trial) {
  return trial.*kMember;
}
template <Cause kOf>
double courses(const TrialSummary& trial) {
  return trial.courses[static_cast<std::size_t>(kOf)];
}
double productive(const TrialSummary& trial) {
  return trial.productive_s();
}
double productive_node_s(const TrialSummary& trial) {
  return trial.node_time_s[index(TimeBucket::kProductive)];
}
double paid(const TrialSummary& trial) {
  return trial.paid_node_s();
}
double running(const TrialSummary& trial) {
  return trial.wall_s - trial.waited_s;
}
double horizon_hours(const TrialSummary& trial) {
  return *trial.horizon_s / 3600;
}
double cost(const TrialSummary& trial) {
  return *trial.cost_usd;
}
bool is_finished(const TrialSummary& trial) {
  return trial.finished;
}
double meets_deadline(const TrialSummary& trial) {
  return trial.deadline == DeadlineOutcome::kMet ? 1 : 0;
}
bool knows_deadline(const TrialSummary& trial) {
  return trial.deadline == DeadlineOutcome::kMet || trial.deadline == DeadlineOutcome::kMissed;
}
bool has_horizon(const TrialSummary& trial) {
  return trial.horizon_s.has_value();
}
bool has_price(const TrialSummary& trial) {
  return trial.cost_usd.has_value();
}

Measure measure_of(TrialMetric metric) {
  switch (metric) {
    case TrialMetric::kSteps:
      return {member<&TrialSummary::steps>};
    case TrialMetric::kSamples:
      return {member<&TrialSummary::samples>};
    case TrialMetric::kJct:
      return {member<&TrialSummary::wall_s>, nullptr, is_finished};
    case TrialMetric::kDeadline:
      return {meets_deadline, nullptr, knows_deadline, true};
    case TrialMetric::kSamplesPerHour:
      return {member<&TrialSummary::samples>, horizon_hours, has_horizon};
    case TrialMetric::kWall:
      return {member<&TrialSummary::wall_s>};
    case TrialMetric::kGoodput:
    case TrialMetric::kEttr:
      return {productive, member<&TrialSummary::wall_s>};
    case TrialMetric::kRunningGoodput:
      return {productive, running};
    case TrialMetric::kEfficiency:
      return {member<&TrialSummary::ideal_node_s>, paid};
    case TrialMetric::kCost:
      return {cost, nullptr, has_price};
    case TrialMetric::kSamplesPerUsd:
      return {member<&TrialSummary::samples>, cost, has_price};
    case TrialMetric::kTrainingNodes:
      return {productive_node_s, productive};
    case TrialMetric::kReconfigurations:
      return {courses<Cause::kReconfiguration>};
    case TrialMetric::kRestarts:
      return {courses<Cause::kRestart>};
    case TrialMetric::kScaleUps:
      return {courses<Cause::kScaleUp>};
    case TrialMetric::kRebalancings:
      return {courses<Cause::kRebalancing>};
    case TrialMetric::kNodesLost:
      return {member<&TrialSummary::nodes_lost>};
    case TrialMetric::kStepsLost:
      return {member<&TrialSummary::steps_lost>};
    case TrialMetric::kSavesSkipped:
      return {member<&TrialSummary::saves_skipped>};
    case TrialMetric::kStoredBytes:
      return {member<&TrialSummary::stored_bytes>};
  }
  GOODPUT_CHECK(false, "unknown metric");
  return {};
}

bool is_known(const Measure& measure, std::span<const TrialSummary> trials) {
  return measure.is_known == nullptr || std::all_of(trials.begin(), trials.end(), measure.is_known);
}

std::vector<double> values(OfTrial of, std::span<const TrialSummary> trials) {
  std::vector<double> result(trials.size());
  std::transform(trials.begin(), trials.end(), result.begin(), of);
  return result;
}

Estimate share_of(const std::vector<double>& zeros_and_ones) {
  return estimate_share(std::count(zeros_and_ones.begin(), zeros_and_ones.end(), 1.0),
                        static_cast<std::int64_t>(zeros_and_ones.size()));
}

// Of no time and no node time: nothing was done with it.
bool are_all_zero(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
}

}  // namespace

Result<TrialMetric> find_trial_metric(std::string_view name) {
  std::vector<std::string_view> names = names_of(kTrialMetrics);
  GOODPUT_TRY(const std::size_t at, index_of_name(names, "metric", name));
  return static_cast<TrialMetric>(at);
}

std::optional<double> value_of(TrialMetric metric, const TrialSummary& trial) {
  const Measure measure = measure_of(metric);
  if (measure.is_known != nullptr && !measure.is_known(trial)) return std::nullopt;
  const double value = measure.value(trial);
  if (measure.divisor == nullptr) return value;
  const double divisor = measure.divisor(trial);
  if (divisor != 0) return value / divisor;
  return value == 0 ? std::optional(0.0) : std::nullopt;
}

std::optional<std::vector<double>> values_of(TrialMetric metric, std::span<const TrialSummary> trials) {
  const Measure measure = measure_of(metric);
  if (!is_known(measure, trials)) return std::nullopt;
  std::vector<double> numerators = values(measure.value, trials);
  if (measure.divisor == nullptr) return numerators;
  const std::vector<double> divisors = values(measure.divisor, trials);
  if (are_all_zero(divisors)) {
    if (are_all_zero(numerators)) return numerators;
    return std::nullopt;
  }
  return linearised_ratio(numerators, divisors);
}

std::optional<Estimate> estimate_of(TrialMetric metric, std::span<const TrialSummary> trials) {
  const Measure measure = measure_of(metric);
  if (!is_known(measure, trials)) return std::nullopt;
  const std::vector<double> numerators = values(measure.value, trials);
  if (measure.is_share) return share_of(numerators);
  if (measure.divisor == nullptr) return estimate_mean(numerators);
  const std::vector<double> divisors = values(measure.divisor, trials);
  if (are_all_zero(numerators) && are_all_zero(divisors)) return estimate_mean(numerators);
  return estimate_ratio(numerators, divisors);
}

}  // namespace goodput
