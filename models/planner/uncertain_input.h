// The inputs of a plan's question that nobody knows for certain, and the question with another value of one.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/planner/plan_question.h"
#include "sim/base/errors.h"
#include "sim/base/tier.h"

namespace goodput {

struct UncertainInput {
  std::string name{};  // a key of the question, a pointer into it, or "cost_model"
  std::string unit{};
  Tier tier = Tier::kAssumed;
  double value = 0;  // 0: it is no number
  double least = 1;  // factors that its tier leaves open
  double most = 1;
  bool is_continuous = true;  // else there is one other value, at `most`
  double highest = HUGE_VAL;  // factor that the value can have
  // The question with so many times the value.
  std::function<Result<PlanQuestion>(const PlanQuestion&, double)> scaled{};
};

// How far off a number of this tier may be: measured 5 %, literature and datasheets 20 %, models 25 %, what
// is assumed twofold.
[[nodiscard]] double usual_spread(Tier tier);

// What the answers that are compared rest on.
struct ComparedAnswers {
  std::set<StepFamily> families{};
  std::set<std::string> policies{};  // as the question calls them
  bool hold_spot = false;            // nodes of the spot market
};

// Those that the question has, the lowest tier first. The step times of each of the families are among them,
// by how far off steps of the family are in validation (models/stack/step_range.h), and the other cost model
// if it can price the plan. With nodes of the spot market, how they come and go and their price; of policies
// their uncertain option (models/policy/policy.h), unless the question gives a measured value.
[[nodiscard]] std::vector<UncertainInput> uncertain_inputs(const PlanQuestion& question,
                                                           const ComparedAnswers& compared);

}  // namespace goodput
