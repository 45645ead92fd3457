// The fastest plans that fit: stage 1 of `goodput plan`.
//
// Candidates (models/planner/plan_choice.h) that break a rule of plans or do not fit into memory are counted
// by the reason. The rest is timed, as `plan-step` does, in the order of a lower bound of the step, until no
// bound is below the slowest plan that is kept. One search finds the best plans of any number of policies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/planner/plan_space.h"
#include "models/policy/plan_limits.h"
#include "sim/base/errors.h"
#include "sim/base/tier.h"
#include "sim/base/units.h"

namespace goodput {

struct RankedPlan {
  ParallelPlan parallel{};
  SimDuration step{};
  double mfu = 0;
  Bytes memory{};     // that its fullest GPU needs
  Bytes available{};  // of a GPU, with the margin left
  Tier tier = Tier::kModel;
};

// A plan that could be run if GPUs had more memory.
struct MisfitPlan {
  ParallelPlan parallel{};
  Bytes memory{};
  Bytes available{};
};

// The plans that a policy can run, and what memory they need with it. Of these are kept: the fastest for each
// size of replicas; the fastest with ZeRO-3 and without, whose step times may be off by different factors;
// and the fastest of each layout (tp, pp, cp, schedule, and ZeRO stage 0, 1, or more), for policies whose own
// step times may rank plans in another order.
struct PlanGate {
  PlanLimits limits{};
  std::size_t sizes = 3;    // the fastest of them
  std::size_t layouts = 0;  // likewise
};

struct AdmittedPlans {
  std::vector<RankedPlan> best;  // as in PlanSearch, of different kinds
  std::optional<MisfitPlan>
      closest;  // of those that the policy could run with more memory; none: there are none
};

struct PlanSearchOptions {
  std::size_t keep = 10;  // of all plans, whoever can run them
  std::vector<PlanGate> gates{};
  unsigned jobs = 1;
  std::uint64_t seed = 0;  // of the routing of tokens, where it is skewed
  bool prunes = true;
  // How many candidates of how many are done with; called by the thread that searches.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress{};
};

struct PlanSearch {
  std::vector<RankedPlan> best;                  // fastest first; among equals the one that needs less memory
  std::vector<AdmittedPlans> admitted;           // by gate
  std::map<std::string, std::int64_t> rejected;  // reason: how many
  std::int64_t candidates = 0;                   // all: timed, pruned and rejected
  std::int64_t timed = 0;
  std::int64_t pruned = 0;
  std::optional<MisfitPlan>
      closest;  // that needs least memory beyond what there is; none: nothing fell there
};

// The best plans of exactly `gpus` GPUs. Whatever `space` leaves out is as in `base`, but for
// layers_per_stage and within_node. The result is the same for any number of jobs, and with or without
// pruning.
[[nodiscard]] Result<PlanSearch> search_plans(const TrainingPlan& base, std::int64_t gpus,
                                              const PlanSpace& space, const PlanSearchOptions& options);

}  // namespace goodput
