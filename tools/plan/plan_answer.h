// The answer to a plan's question: what is best, what cannot be told from it, what else there is to choose,
// and what it rests on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/planner/plan_question.h"
#include "models/planner/plan_search.h"
#include "sim/base/errors.h"
#include "sim/base/tier.h"
#include "tools/plan/one_factor.h"
#include "tools/plan/plan_option.h"
#include "tools/plan/policy_plans.h"
#include "tools/plan/sensitivity.h"

namespace goodput {

// How a policy does in the contest.
struct PolicyStanding {
  std::optional<PlanOption> best{};            // none: it never always finishes
  std::optional<PlanOption> at_equal_nodes{};  // with as many nodes as the answer
};

struct PlanAnswer {
  PlanSearch search{};
  std::vector<PolicyPlans> policies{};      // the plans of each policy of the question
  std::vector<PolicyStanding> standings{};  // likewise, once a contest was held
  std::vector<ParallelPlan> simulated{};    // all of these plans
  std::int64_t contenders = 0;
  std::int64_t runs = 0;
  std::int64_t trials = 0;                   // that those which were left have
  std::map<std::string, Refusal> refused{};  // by policy: those that do not compete on all nodes
  std::optional<PlanOption> best{};
  std::vector<PlanOption> ties{};
  std::optional<RankedPlan> best_layout{};            // the best's parallel plan, if it was timed alone
  std::vector<RankedPlan> within_prediction_error{};  // layouts whose step times cannot be told from its own
  std::vector<PlanOption> pareto{};      // cost against time, cheapest first: none is better in both
  std::vector<OneFactorCurve> curves{};  // around the best
  std::vector<PlanOption> finishing{};   // all contenders that always finish and have a price, cheapest first
  // Without a best one: the nearest, and what it lacks.
  std::optional<PlanOption> closest{};
  std::string lacks{};
  std::vector<std::string> notes{};  // sentences on what all of this rests on
  Sensitivity sensitivity{};
  SimDuration most{};  // after which a run was cut short
  Tier tier = Tier::kMeasured;
};

enum class PlanPhase : std::uint8_t { kPlans, kContest, kSensitivity };

struct PlanRunOptions {
  std::uint64_t seed = 0;
  unsigned jobs = 1;
  bool has_sensitivity = true;
  std::function<void(PlanPhase)> on_phase{};
  // Before each input of the sensitivity.
  std::function<void(const std::string& input, std::size_t number, std::size_t inputs)> on_input{};
  std::function<bool()> is_out_of_time{};  // whether to stop with the trials there are; empty: never
};

Result<PlanAnswer> answer_question(const PlanQuestion& question, const PlanRunOptions& options);

}  // namespace goodput
