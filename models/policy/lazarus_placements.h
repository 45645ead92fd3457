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

struct LazarusRules {
  std::int32_t slots_per_gpu = 6;
  Allocation allocation = Allocation::kEq1;
  PlacementRule rule = PlacementRule::kMro;
  std::int32_t min_replicas = 2;
  MappingRule mapping = MappingRule::kGreedy;
};

class LazarusPlacements {
 public:
  using PlacementId = std::int32_t;

  // Keeps a reference to `job`. REQUIRES: a model with experts.
  LazarusPlacements(const JobModel& job, const LazarusRules& rules, const StepSettings& settings,
                    const MigrationTiming& timing, Bytes expert);

  // The fewest nodes that hold every expert.
  [[nodiscard]] std::int32_t least_nodes() const;
  // The most of `nodes` nodes that whole replicas of the plan fill; 0: they cannot hold every expert.
  [[nodiscard]] std::int32_t whole(std::int32_t nodes) const;
  // Of those, the nodes that the job uses: all, unless its batch leaves some with nothing to do.
  [[nodiscard]] std::int32_t usable(std::int32_t nodes) const;

  // Fails on what the plan or its cost model cannot do on so many nodes.
  [[nodiscard]] Result<StepTime> check(std::int32_t nodes) const;

  // For the loads of a routing window. REQUIRES: usable(nodes) == nodes > 0, and check() does not fail.
  [[nodiscard]] PlacementId placement(std::int32_t nodes, std::size_t window);
  [[nodiscard]] std::int32_t nodes(PlacementId placement) const {
    return placements_[static_cast<std::size_t>(placement)].nodes;
  }
  [[nodiscard]] std::size_t window(PlacementId placement) const {
    return placements_[static_cast<std::size_t>(placement)].window;
  }

  [[nodiscard]] const StepTime& step(PlacementId placement, std::size_t window, double slowest);

  // From one placement to another. Nodes are called after the places they had: 0 .. n-1; those that joined
  // are n, n+1, ...
  struct Move {
    bool is_possible = false;                   // every expert still has a node that holds it
    std::vector<std::int32_t> node_of_place{};  // of the new placement
    std::int64_t experts = 0;                   // transferred
    MigrationTime time{};
  };
  // `is_left`: by place of `from`, whether its node still holds what it held.
  // REQUIRES: nodes left and joined are at least nodes(to).
  [[nodiscard]] const Move& move(PlacementId from, const std::vector<bool>& is_left, std::int32_t joined,
                                 PlacementId to);

 private:
  struct Placed {
    std::int32_t nodes = 0;
    std::size_t window = 0;
    std::vector<ExpertPlacement> layers{};
    std::vector<StepTime> steps{};  // by window; step 0: not known yet
  };
  [[nodiscard]] std::int32_t unit() const;  // nodes that whole replicas fill
  [[nodiscard]] Result<Placed> place(std::int32_t nodes, std::size_t window) const;
  [[nodiscard]] Result<StepTime> time(const Placed& placed, std::size_t window, double slowest) const;
  [[nodiscard]] Move compute(const Placed& from, const std::vector<bool>& is_left, std::int32_t joined,
                             const Placed& to) const;

  const JobModel* job_;
  LazarusRules rules_;
  StepSettings settings_;
  MigrationTiming timing_;
  Bytes expert_;  // of one layer
  std::vector<Placed> placements_;
  std::map<std::pair<std::int32_t, std::size_t>, PlacementId> placement_of_;  // nodes, window
  std::map<std::vector<std::uint64_t>, Move> moves_;
  StepTime slow_;  // of slow_key_: it is asked for again as long as a node is slow
  std::tuple<PlacementId, std::size_t, double> slow_key_{-1, 0, 1};
};

}  // namespace goodput
