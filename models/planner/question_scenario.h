// A scenario that a plan's question comes to, once plan, nodes and policies are chosen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/planner/plan_question.h"
#include "models/scenario/scenario.h"
#include "sim/base/errors.h"

namespace goodput {

// What is decided besides the policy.
struct PlannedNodes {
  ParallelPlan parallel{};
  std::int32_t spares = 0;      // beyond the nodes that train
  std::int32_t spot_nodes = 0;  // of all of them
};

// The policies that the question lists; without any all that there are.
[[nodiscard]] std::vector<ScenarioPolicy> listed_policies(const PlanQuestion& question);

// The policies that compete, with what the question says of storage and restarts as options of theirs:
// wherever a policy has a key of that name and the question does not say otherwise for that policy.
Result<std::vector<ScenarioPolicy>> competing_policies(const PlanQuestion& question);

// The same policy with a checkpoint every `steps` steps, or, with 0, at the optimal interval. `name`: what
// results call it. Whether it has such an option: has_interval().
[[nodiscard]] ScenarioPolicy with_interval(ScenarioPolicy policy, std::int64_t steps, std::string name);
Result<bool> has_interval(const PlanQuestion& question, const ScenarioPolicy& policy);

// The job is cut short after `most`, where nothing says when. Errors are the question's.
Result<Scenario> question_scenario(const PlanQuestion& question, const PlannedNodes& choice,
                                   std::vector<ScenarioPolicy> policies, SimDuration most);

}  // namespace goodput
