// The parallel plans that each policy of a question competes with.
//
// A search finds the fastest plans that the policy can run and that fit into memory as the policy runs them.
// The policy's own step on the nodes that train then ranks them. Plans whose replicas use the same number of
// GPUs lose as much at a failure, so only the fastest of them competes. If all have ZeRO-3, the fastest plan
// without it competes too, because predicted steps of the two may be off by different factors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/planner/plan_question.h"
#include "models/planner/plan_search.h"
#include "models/scenario/scenario.h"
#include "sim/base/errors.h"
#include "sim/base/units.h"
#include "tools/plan/contenders.h"

namespace goodput {

struct PolicyPlan {
  ParallelPlan parallel{};
  // The policy's own step on the nodes that train, all healthy. None: not known, as of a user's program.
  std::optional<SimDuration> step{};
};

struct PolicyPlans {
  std::string policy{};             // as the question calls it
  std::vector<PolicyPlan> plans{};  // its own fastest first; the one without ZeRO-3 may come last
  std::string reason{};             // without plans: why there are none
};

struct FoundPlans {
  PlanSearch search{};                  // of the question's plans, whoever can run them
  std::vector<RankedPlan> layouts{};    // all plans that the search kept
  std::vector<PolicyPlans> policies{};  // in the order of the question's
};

// `rules.most` may be anything. Errors: of what the question names.
Result<FoundPlans> find_plans(const PlanQuestion& question, const std::vector<ScenarioPolicy>& policies,
                              const ContenderRules& rules);

// A job is given up after a multiple of its ideal time with steps of this length.
[[nodiscard]] SimDuration patience(const PlanQuestion& question, SimDuration step);

}  // namespace goodput
