// A contender as an answer names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/planner/plan_question.h"
#include "models/planner/question_scenario.h"
#include "models/scenario/estimate.h"
#include "sim/base/tier.h"
#include "tools/plan/contenders.h"

namespace goodput {

// Plan, nodes, policy and interval, and what they come to.
struct PlanOption {
  PlannedNodes choice{};
  std::string policy{};             // as the question calls it
  ScenarioPolicy options{};         // as it was simulated
  std::int64_t interval_steps = 0;  // 0: it has no such option
  double interval_s = 0;            // the same as training time
  std::int32_t nodes_held = 0;      // that train and spares
  std::int64_t trials = 0;
  std::optional<Estimate> training_nodes{};  // mean over the time in which any train
  std::optional<Estimate> cost_usd{}, jct_s{}, goodput{};
  std::optional<Estimate> jct_p95_s{};
  std::optional<Estimate> p_deadline{};  // where there is a deadline
  std::optional<Estimate> p_budget{};    // where the budget has a probability
  std::optional<Estimate> stored_bytes{};
  double plt = 0;  // share of tokens that partial checkpoints lose (models/checkpoint/lost_tokens.h)
  std::vector<std::string> warnings{};
  Tier tier = Tier::kAssumed;
};

// By its first `trials` trials, or by all. REQUIRES: it has so many, one or more.
[[nodiscard]] PlanOption plan_option(const Contenders& contenders, const PlanQuestion& question,
                                     std::size_t contender, std::optional<std::int64_t> trials = {});

}  // namespace goodput
