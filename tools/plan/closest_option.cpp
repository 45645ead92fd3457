#include "tools/plan/closest_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "models/planner/contest.h"
#include "models/scenario/trial_metrics.h"
#include "tools/cli/duration_text.h"
#include "tools/plan/plan_values.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {
namespace {

// What a contender comes to, by the trials it has.
struct Closeness {
  std::size_t contender = 0;
  bool in_time = true, in_budget = true;
  double p_deadline = 1;
  double p_budget = 1;
  double cost = 0;
  double time = 0;
};

std::vector<Closeness> all_of(const Contenders& contenders, const PlanQuestion& question) {
  std::vector<Closeness> found;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const auto trials = contenders.trials(i);
    if (trials.empty()) continue;
    const auto time = values_of(TrialMetric::kJct, trials);
    if (!time) continue;
    Closeness one;
    one.contender = i;
    one.time = estimate_mean(*time).mean;
    if (const auto cost = values_of(TrialMetric::kCost, trials)) {
      one.cost = estimate_mean(*cost).mean;
      if (question.budget) one.p_budget = budget_share(trials, question.budget->value).mean;
    }
    if (question.deadline) one.p_deadline = deadline_share(trials).mean;
    one.in_time = within_deadline(question, trials) >= WithinLimits::kPerhaps;
    one.in_budget = within_budget(question, trials) >= WithinLimits::kPerhaps;
    found.push_back(one);
  }
  return found;
}

const Closeness* cheapest(const std::vector<Closeness>& all, bool of_those_in_time) {
  const Closeness* best = nullptr;
  for (const Closeness& one : all) {
    if ((!of_those_in_time || one.in_time) && (best == nullptr || one.cost < best->cost)) best = &one;
  }
  return best;
}

// The likeliest to be in time, of those the fastest.
const Closeness* soonest(const std::vector<Closeness>& all, bool of_those_in_budget) {
  const Closeness* best = nullptr;
  for (const Closeness& one : all) {
    if (of_those_in_budget && !one.in_budget) continue;
    const bool is_better = best == nullptr || one.p_deadline > best->p_deadline ||
                           (one.p_deadline == best->p_deadline && one.time < best->time);
    if (is_better) best = &one;
  }
  return best;
}

std::string late_text(const PlanQuestion& question, const Closeness& one) {
  return fmt::format("meets the deadline in {:.1f} % of runs ({:g} % required) and takes {} on average",
                     100 * one.p_deadline, 100 * question.deadline->probability, duration_text(one.time));
}

std::string dear_text(const PlanQuestion& question, const Closeness& one) {
  const std::string budget = metric_text(TrialMetric::kCost, question.budget->value);
  std::string text = fmt::format("costs {} on average", metric_text(TrialMetric::kCost, one.cost));
  if (question.budget->probability == 0) return text + fmt::format("; the budget is {}", budget);
  return text + fmt::format(" and stays within the budget of {} in {:.1f} % of runs ({:g} % required)",
                            budget, 100 * one.p_budget, 100 * question.budget->probability);
}

}  // namespace

ClosestOption closest_option(const Contenders& contenders, const PlanQuestion& question) {
  const std::vector<Closeness> all = all_of(contenders, question);
  if (all.empty())
    return {std::nullopt, "no choice of plan, policy, spares and interval finishes the job in every trial"};
  const bool some_in_time = std::any_of(all.begin(), all.end(), [](const auto& one) { return one.in_time; });
  const bool some_in_budget =
      std::any_of(all.begin(), all.end(), [](const auto& one) { return one.in_budget; });
  if (!some_in_time) {
    const Closeness* best = soonest(all, /*of_those_in_budget=*/false);
    return {best->contender,
            "no choice meets the deadline often enough; the closest one " + late_text(question, *best)};
  }
  const Closeness* in_time = cheapest(all, /*of_those_in_time=*/true);
  if (!some_in_budget) {
    const Closeness* best = cheapest(all, /*of_those_in_time=*/false);
    return {best->contender,
            "no choice stays within the budget; the cheapest one " + dear_text(question, *best)};
  }
  const Closeness* in_budget = soonest(all, /*of_those_in_budget=*/true);
  return {in_time->contender,
          fmt::format("no choice meets both deadline and budget. The cheapest choice that meets the deadline "
                      "{}. The closest choice within the budget {}",
                      dear_text(question, *in_time), late_text(question, *in_budget))};
}

}  // namespace goodput
