// What trials come to by the measures of a plan's question.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/planner/contest.h"
#include "models/planner/plan_question.h"
#include "models/scenario/estimate.h"
#include "models/scenario/trial_summary.h"

namespace goodput {

// A number a trial, less is better. None where some trial has none, or the goal was not reached.
[[nodiscard]] std::optional<std::vector<double>> objective_values(Objective objective,
                                                                  std::span<const TrialSummary> trials);
// A mean of these, as people read it.
[[nodiscard]] double shown_objective(Objective objective, double value);

// Of the trials, those that reached the goal by the deadline. REQUIRES: trials, with a deadline.
[[nodiscard]] Estimate deadline_share(std::span<const TrialSummary> trials);
// Of the trials, those that cost no more. REQUIRES: trials that all have a cost.
[[nodiscard]] Estimate budget_share(std::span<const TrialSummary> trials, double usd);

// Trials that show a probability of more than this if all of them hit: the least n for which the 95 %
// interval of n hits of n (estimate_share()) lies above it. REQUIRES: 0 < probability < 1.
[[nodiscard]] std::int64_t trials_to_show(double probability);
// The same if so large a share of the trials hits. None if that would take more than 10^7.
[[nodiscard]] std::optional<std::int64_t> trials_to_show(double probability, double share);

// Whether trials so far keep to deadline and budget. REQUIRES: trials.
[[nodiscard]] WithinLimits within_deadline(const PlanQuestion& question,
                                           std::span<const TrialSummary> trials);
[[nodiscard]] WithinLimits within_budget(const PlanQuestion& question, std::span<const TrialSummary> trials);
// The less sure of the two.
[[nodiscard]] WithinLimits within_limits(const PlanQuestion& question, std::span<const TrialSummary> trials);

}  // namespace goodput
