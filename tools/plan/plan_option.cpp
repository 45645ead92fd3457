#include "tools/plan/plan_option.h"

#include <algorithm>
#include <utility>

#include "models/checkpoint/lost_tokens.h"
#include "models/scenario/trial_metrics.h"
#include "tools/plan/plan_values.h"

namespace goodput {
namespace {

constexpr double kSure = 0.95;

// Of how long jobs take; none of a single trial, or where some did not finish.
std::optional<Estimate> jct_quantile(std::span<const TrialSummary> trials) {
  if (trials.size() < 2) return std::nullopt;
  std::vector<double> times;
  for (const TrialSummary& trial : trials) {
    const auto time = value_of(TrialMetric::kJct, trial);
    if (!time) return std::nullopt;
    times.push_back(*time);
  }
  return estimate_quantile(times, kSure);
}

// Of the first trial: it depends on the nodes that train.
double step_seconds(const TrialSummary& trial) {
  return trial.steps > 0 ? trial.productive_s() / trial.steps : 0;
}

// Of policies with partial checkpoints; 0: it has none.
double mean_plt(std::span<const TrialSummary> trials) {
  double sum = 0;
  for (const TrialSummary& trial : trials) {
    for (const PolicyMetric& metric : trial.metrics) {
      if (metric.name == "plt") sum += metric.value;
    }
  }
  return sum / static_cast<double>(trials.size());
}

}  // namespace

PlanOption plan_option(const Contenders& contenders, const PlanQuestion& question, std::size_t contender,
                       std::optional<std::int64_t> count) {
  const Setting& setting = contenders.setting(contender);
  const Contender& of = contenders[contender];
  auto trials = contenders.trials(contender);
  if (count) trials = trials.first(static_cast<std::size_t>(*count));
  PlanOption option;
  option.choice = setting.choice;
  option.policy = of.base;
  option.options = setting.scenario.policies[of.policy];
  option.options.name = of.base;
  option.interval_steps = of.interval_steps;
  option.interval_s = static_cast<double>(of.interval_steps) * step_seconds(trials.front());
  option.nodes_held = contenders.nodes_held(contender);
  option.trials = static_cast<std::int64_t>(trials.size());
  option.training_nodes = estimate_of(TrialMetric::kTrainingNodes, trials);
  option.cost_usd = estimate_of(TrialMetric::kCost, trials);
  option.jct_s = estimate_of(TrialMetric::kJct, trials);
  option.goodput = estimate_of(TrialMetric::kGoodput, trials);
  option.stored_bytes = estimate_of(TrialMetric::kStoredBytes, trials);
  option.jct_p95_s = jct_quantile(trials);
  if (question.deadline) option.p_deadline = deadline_share(trials);
  if (question.budget && question.budget->probability > 0 && option.cost_usd)
    option.p_budget = budget_share(trials, question.budget->value);
  option.warnings = setting.runs->prepared(of.policy).warnings();
  option.plt = mean_plt(trials);
  if (std::string warning = plt_warning(option.plt); !warning.empty())
    option.warnings.push_back(std::move(warning));
  option.tier = lowest(setting.runs->prepared(of.policy).tier(), setting.scenario.tier);
  return option;
}

}  // namespace goodput
