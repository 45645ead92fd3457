// The placements that Lazarus (arXiv 2407.04656) gives the experts of a job, what steps take with them, and
// how it gets from one to another: each computed once and kept, whatever physical nodes are concerned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "models/job/job_model.h"
#include "models/migration/expert_migration.h"
#include "models/migration/node_mapping.h"
#include "models/placement_search/place_experts.h"
#include "sim/base/errors.h"

namespace goodput {

struct LazarusPlacement {
  std::int32_t slots_per_gpu = 6;
  Allocation allocation = Allocation::kEq1;
  PlacementPlan plan = PlacementPlan::kMro;
  std::int32_t min_replicas = 2;
  MappingRule mapping = MappingRule::kGreedy;
};

class LazarusPlans {
 public:
  using PlanId = std::int32_t;

  // Keeps a reference to `job`. REQUIRES: a model with experts.
  LazarusPlans(const JobModel& job, const LazarusPlacement& placement, const StepSettings& settings,
               const MigrationTiming& timing, Bytes expert);

  // The fewest nodes that hold every expert.
  [[nodiscard]] std::int32_t least_nodes() const;
  // The most of `nodes` nodes that the job can use: whole replicas of the plan; 0: they cannot hold every
  // expert.
  [[nodiscard]] std::int32_t usable(std::int32_t nodes) const;

  // Fails on what the plan or its cost model cannot do on so many nodes.
  [[nodiscard]] Result<StepTime> check(std::int32_t nodes) const;

  // For the loads of a routing window. REQUIRES: usable(nodes) == nodes > 0, and check() does not fail.
  [[nodiscard]] PlanId plan(std::int32_t nodes, std::size_t window);
  [[nodiscard]] std::int32_t nodes(PlanId plan) const { return plans_[static_cast<std::size_t>(plan)].nodes; }
  [[nodiscard]] std::size_t window(PlanId plan) const {
    return plans_[static_cast<std::size_t>(plan)].window;
  }

  [[nodiscard]] const StepTime& step(PlanId plan, std::size_t window, double slowest);

  // From one plan to another. Nodes are called after the places they had: 0 .. n-1; those that joined are n,
  // n+1, ...
  struct Move {
    bool is_possible = false;                   // every expert is still held by some node
    std::vector<std::int32_t> node_of_place{};  // of the new plan
    std::int64_t experts = 0;                   // transferred
    MigrationTime time{};
  };
  // `is_left`: by place of `from`, whether its node still holds what it held.
  // REQUIRES: nodes left and joined are at least nodes(to).
  [[nodiscard]] const Move& move(PlanId from, const std::vector<bool>& is_left, std::int32_t joined,
                                 PlanId to);

 private:
  struct Placed {
    std::int32_t nodes = 0;
    std::size_t window = 0;
    std::vector<ExpertPlacement> layers{};
    std::vector<StepTime> steps{};  // by window; step 0: not known yet
  };
  [[nodiscard]] Result<Placed> place(std::int32_t nodes, std::size_t window) const;
  [[nodiscard]] Result<StepTime> time(const Placed& placed, std::size_t window, double slowest) const;
  [[nodiscard]] Move compute(const Placed& from, const std::vector<bool>& is_left, std::int32_t joined,
                             const Placed& to) const;

  const JobModel* job_;
  LazarusPlacement placement_;
  StepSettings settings_;
  MigrationTiming timing_;
  Bytes expert_;  // of one layer
  std::vector<Placed> plans_;
  std::map<std::pair<std::int32_t, std::size_t>, PlanId> plan_of_;  // nodes, window
  std::map<std::vector<std::uint64_t>, Move> moves_;
  StepTime slow_;  // of slow_key_: it is asked for again as long as a node is slow
  std::tuple<PlanId, std::size_t, double> slow_key_{-1, 0, 1};
};

}  // namespace goodput
