#include "models/scenario/simulation_statistics.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "models/scenario/ratio_estimate.h"

namespace goodput {
namespace {

using Trials = std::span<const TrialSummary>;

template <typename Get>
Estimate over(Trials trials, Get get) {
  std::vector<double> values;
  values.reserve(trials.size());
  for (const TrialSummary& trial : trials) values.push_back(std::invoke(get, trial));
  return estimate_mean(values);
}

bool all_finished(Trials trials) {
  return std::all_of(trials.begin(), trials.end(), [](const TrialSummary& trial) { return trial.finished; });
}
bool none_finished(Trials trials) {
  return std::none_of(trials.begin(), trials.end(), [](const TrialSummary& trial) { return trial.finished; });
}

// A run that is cut short would have taken longer than the time there was for it. None where somebody
// stopped for good, and nobody knows when the run would have ended.
std::optional<double> least_jct(Trials trials) {
  double sum = 0;
  for (const TrialSummary& trial : trials) {
    if (!trial.horizon_s) return std::nullopt;
    sum += *trial.horizon_s;
  }
  return sum / static_cast<double>(trials.size());
}

std::optional<Estimate> ratio_of_metric(TrialMetric metric, Trials a, Trials b) {
  const auto numerators = values_of(metric, a);
  const auto divisors = values_of(metric, b);
  if (!numerators || !divisors) return std::nullopt;
  return estimate_ratio(*numerators, *divisors);
}

// Of a ratio each trial's own, where all have one.
std::optional<std::vector<double>> own_values(TrialMetric metric, Trials trials) {
  std::vector<double> values;
  values.reserve(trials.size());
  for (const TrialSummary& trial : trials) {
    const std::optional<double> value = value_of(metric, trial);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<DeadlineTrials> deadline_trials(Trials trials) {
  if (trials.front().deadline == DeadlineOutcome::kNone) return std::nullopt;
  const auto count = [trials](DeadlineOutcome what) {
    return std::count_if(trials.begin(), trials.end(),
                         [what](const TrialSummary& trial) { return trial.deadline == what; });
  };
  return DeadlineTrials{count(DeadlineOutcome::kMet), count(DeadlineOutcome::kMissed),
                        count(DeadlineOutcome::kUnknown)};
}

}  // namespace

PolicyOutcome outcome_of(Trials trials, bool has_goal) {
  PolicyOutcome outcome;
  outcome.trials = static_cast<std::int64_t>(trials.size());
  for (const TrialSummary& trial : trials) {
    outcome.finished += static_cast<std::int64_t>(trial.finished);
    if (!trial.stopped.empty()) ++outcome.stopped[trial.stopped];
  }
  if (has_goal) outcome.p_finished = estimate_share(outcome.finished, outcome.trials);
  outcome.deadline = deadline_trials(trials);
  if (has_goal && !all_finished(trials)) outcome.least_jct_s = least_jct(trials);
  for (std::size_t i = 0; i < kTrialMetrics.size(); ++i)
    outcome.estimates[i] = estimate_of(static_cast<TrialMetric>(i), trials);
  for (const TrialMetric metric : kQuantileMetrics) {
    const auto values = own_values(metric, trials);
    if (!values) continue;
    for (std::size_t i = 0; i < kQuantiles.size(); ++i)
      outcome.quantiles[metric][i] = estimate_quantile(*values, kQuantiles[i]);
  }
  for (std::size_t i = 0; i < kTimeBucketCount; ++i) {
    outcome.time_s[i] = over(trials, [i](const TrialSummary& trial) { return trial.time_s[i]; });
    outcome.node_time_s[i] = over(trials, [i](const TrialSummary& trial) { return trial.node_time_s[i]; });
  }
  for (std::size_t i = 0; i < trials.front().usd_by_pool.size(); ++i)
    outcome.cost_by_pool.push_back(over(trials, [i](const TrialSummary& of) { return of.usd_by_pool[i]; }));
  outcome.first_saving = trials.front().first_saving;
  for (std::size_t i = 0; i < trials.front().metrics.size(); ++i) {
    outcome.metrics[trials.front().metrics[i].name] =
        over(trials, [i](const TrialSummary& trial) { return trial.metrics[i].value; });
  }
  return outcome;
}

PolicyRatio ratio_of(Trials a, Trials b) {
  PolicyRatio ratio;
  const bool are_alike = (all_finished(a) && all_finished(b)) || (none_finished(a) && none_finished(b));
  if (are_alike) ratio.samples = ratio_of_metric(TrialMetric::kSamples, a, b);
  ratio.samples_per_hour = ratio_of_metric(TrialMetric::kSamplesPerHour, a, b);
  ratio.jct_s = ratio_of_metric(TrialMetric::kJct, a, b);
  ratio.cost = ratio_of_metric(TrialMetric::kSamplesPerUsd, b, a);
  const auto jct_a = estimate_of(TrialMetric::kJct, a);
  const auto jct_b = estimate_of(TrialMetric::kJct, b);
  const std::optional<double> least_a = least_jct(a);
  const std::optional<double> least_b = least_jct(b);
  if (!jct_a && jct_b && least_a && jct_b->mean > 0) ratio.jct_above = *least_a / jct_b->mean;
  if (jct_a && !jct_b && least_b && *least_b > 0) ratio.jct_below = jct_a->mean / *least_b;
  return ratio;
}

}  // namespace goodput
