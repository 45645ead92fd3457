#include "models/scenario/simulation_statistics.h"

#include <algorithm>
#include <functional>

namespace goodput {
namespace {

template <typename Get>
Estimate over(std::span<const TrialSummary> trials, Get get) {
  std::vector<double> values;
  values.reserve(trials.size());
  for (const TrialSummary& trial : trials) values.push_back(std::invoke(get, trial));
  return estimate_mean(values);
}

Estimate courses(std::span<const TrialSummary> trials, Cause cause) {
  return over(trials,
              [cause](const TrialSummary& trial) { return trial.courses[static_cast<std::size_t>(cause)]; });
}

bool all_finished(std::span<const TrialSummary> trials) {
  return std::all_of(trials.begin(), trials.end(), [](const TrialSummary& trial) { return trial.finished; });
}

// Trial by trial; none where a divisor is 0.
template <typename Get>
std::optional<Estimate> quotient(std::span<const TrialSummary> a, std::span<const TrialSummary> b, Get get) {
  std::vector<double> values;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double divisor = std::invoke(get, b[i]);
    if (divisor == 0) return std::nullopt;
    values.push_back(std::invoke(get, a[i]) / divisor);
  }
  return estimate_mean(values);
}

}  // namespace

TrialSummary summarize(const JobResult& result) {
  TrialSummary trial;
  trial.finished = result.finished;
  trial.stopped = result.stopped;
  trial.steps = static_cast<double>(result.steps);
  trial.samples = static_cast<double>(result.samples);
  trial.wall_s = result.wall_s();
  trial.goodput = result.goodput();
  trial.ettr = result.ettr();
  trial.cost_usd = result.cost_usd;
  trial.nodes_lost = static_cast<double>(result.nodes_lost);
  trial.steps_lost = static_cast<double>(result.steps_lost);
  for (std::size_t i = 0; i < kCauses; ++i) trial.courses[i] = static_cast<double>(result.courses[i]);
  for (std::size_t i = 0; i < kTimeBucketCount; ++i) {
    trial.time_s[i] = to_seconds(result.ledger.time[i]);
    trial.node_time_s[i] = node_seconds(result.ledger.node_time[i]);
  }
  trial.metrics = result.metrics;
  return trial;
}

PolicyOutcome outcome_of(std::span<const TrialSummary> trials) {
  PolicyOutcome outcome;
  outcome.trials = static_cast<std::int64_t>(trials.size());
  for (const TrialSummary& trial : trials) {
    outcome.finished += static_cast<std::int64_t>(trial.finished);
    if (!trial.stopped.empty()) ++outcome.stopped[trial.stopped];
  }
  outcome.steps = over(trials, &TrialSummary::steps);
  outcome.samples = over(trials, &TrialSummary::samples);
  outcome.wall_s = over(trials, &TrialSummary::wall_s);
  outcome.goodput = over(trials, &TrialSummary::goodput);
  outcome.ettr = over(trials, &TrialSummary::ettr);
  outcome.cost_usd = over(trials, &TrialSummary::cost_usd);
  if (all_finished(trials)) outcome.jct_s = outcome.wall_s;
  outcome.reconfigurations = courses(trials, Cause::kReconfiguration);
  outcome.restarts = courses(trials, Cause::kRestart);
  outcome.scale_ups = courses(trials, Cause::kScaleUp);
  outcome.rebalancings = courses(trials, Cause::kRebalancing);
  outcome.nodes_lost = over(trials, &TrialSummary::nodes_lost);
  outcome.steps_lost = over(trials, &TrialSummary::steps_lost);
  for (std::size_t i = 0; i < kTimeBucketCount; ++i) {
    outcome.time_s[i] = over(trials, [i](const TrialSummary& trial) { return trial.time_s[i]; });
    outcome.node_time_s[i] = over(trials, [i](const TrialSummary& trial) { return trial.node_time_s[i]; });
  }
  for (std::size_t i = 0; i < trials.front().metrics.size(); ++i) {
    outcome.metrics[std::string(trials.front().metrics[i].name)] =
        over(trials, [i](const TrialSummary& trial) { return trial.metrics[i].value; });
  }
  return outcome;
}

PolicyRatio ratio_of(std::span<const TrialSummary> a, std::span<const TrialSummary> b) {
  PolicyRatio ratio;
  ratio.samples = quotient(a, b, &TrialSummary::samples);
  if (all_finished(a) && all_finished(b)) ratio.jct_s = quotient(a, b, &TrialSummary::wall_s);
  return ratio;
}

}  // namespace goodput
