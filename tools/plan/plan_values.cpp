#include "tools/plan/plan_values.h"

#include <algorithm>
#include <cmath>

#include "models/scenario/sample_moments.h"
#include "models/scenario/trial_metrics.h"

namespace goodput {
namespace {

// Standard deviations between the mean and the limit. If all trials are on one side of a limit that is so far
// away, there is no need to wait for a trial on the other side.
constexpr double kFarOff = 5;

bool all_finished(std::span<const TrialSummary> trials) {
  return std::all_of(trials.begin(), trials.end(), [](const TrialSummary& trial) { return trial.finished; });
}

double deviation_of(std::span<const double> values, double mean) {
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(std::max<std::size_t>(1, values.size() - 1)));
}

// Values are to be at most `limit` with that probability. `share`: of the trials, those that are.
WithinLimits within(std::span<const double> values, double limit, double probability, const Estimate& share) {
  const double mean = estimate_mean(values).mean;
  const double margin = kFarOff * deviation_of(values, mean);
  if ((*share.interval)[1] < probability || (share.mean == 0 && mean - margin > limit))
    return WithinLimits::kNo;
  if ((*share.interval)[0] >= probability) return WithinLimits::kYes;
  if (share.mean == 1 && mean + margin < limit) return WithinLimits::kLikely;
  return share.mean >= probability ? WithinLimits::kPerhaps : WithinLimits::kHardly;
}

Estimate share_of(std::int64_t hits, std::span<const TrialSummary> trials) {
  return estimate_share(hits, static_cast<std::int64_t>(trials.size()));
}

}  // namespace

std::optional<std::vector<double>> objective_values(Objective objective,
                                                    std::span<const TrialSummary> trials) {
  if (trials.empty() || !all_finished(trials)) return std::nullopt;
  const TrialMetric metric = metric_of(objective);
  auto values = values_of(metric, trials);
  if (values && info(metric).better == Better::kMore) {
    for (double& value : *values) value = -value;
  }
  return values;
}

double shown_objective(Objective objective, double value) {
  return info(metric_of(objective)).better == Better::kMore ? -value : value;
}

Estimate deadline_share(std::span<const TrialSummary> trials) {
  return share_of(
      std::count_if(trials.begin(), trials.end(),
                    [](const TrialSummary& trial) { return trial.deadline == DeadlineOutcome::kMet; }),
      trials);
}

Estimate budget_share(std::span<const TrialSummary> trials, double usd) {
  return share_of(std::count_if(trials.begin(), trials.end(),
                                [usd](const TrialSummary& trial) { return *trial.cost_usd <= usd; }),
                  trials);
}

// n hits of n: the lower end of the interval is (0.05 / 2)^(1 / n).
std::int64_t trials_to_show(double probability) {
  return static_cast<std::int64_t>(std::ceil(std::log((1 - kConfidence) / 2) / std::log(probability)));
}

std::optional<std::int64_t> trials_to_show(double probability, double share) {
  constexpr std::int64_t kMost = 10'000'000;
  const auto shows = [&](std::int64_t trials) {
    const auto hits = static_cast<std::int64_t>(std::floor(share * static_cast<double>(trials)));
    return (*estimate_share(hits, trials).interval)[0] >= probability;
  };
  if (share <= probability || !shows(kMost)) return std::nullopt;
  std::int64_t too_few = 0;
  std::int64_t enough = kMost;
  while (enough - too_few > 1) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    (shows(middle) ? enough : too_few) = middle;
  }
  return enough;
}

WithinLimits within_deadline(const PlanQuestion& question, std::span<const TrialSummary> trials) {
  if (!question.deadline) return WithinLimits::kYes;
  std::vector<double> walls;
  for (const TrialSummary& trial : trials) walls.push_back(trial.wall_s);
  return within(walls, to_seconds(question.deadline->value), question.deadline->probability,
                deadline_share(trials));
}

WithinLimits within_budget(const PlanQuestion& question, std::span<const TrialSummary> trials) {
  if (!question.budget) return WithinLimits::kYes;
  const auto costs = values_of(TrialMetric::kCost, trials);
  if (!costs) return WithinLimits::kYes;  // nodes are free
  const Budget& budget = *question.budget;
  if (budget.probability > 0)
    return within(*costs, budget.value, budget.probability, budget_share(trials, budget.value));
  const Estimate cost = estimate_mean(*costs);
  const double half = cost.interval ? (*cost.interval)[1] - cost.mean : HUGE_VAL;
  if (cost.mean - 2 * half > budget.value) return WithinLimits::kNo;
  if (cost.mean + 2 * half <= budget.value) return WithinLimits::kYes;
  return cost.mean <= budget.value ? WithinLimits::kPerhaps : WithinLimits::kHardly;
}

WithinLimits within_limits(const PlanQuestion& question, std::span<const TrialSummary> trials) {
  return std::min(within_deadline(question, trials), within_budget(question, trials));
}

}  // namespace goodput
