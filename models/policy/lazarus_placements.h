// The placements that Lazarus (arXiv 2407.04656) gives the experts of a job, what steps take with them, and
// how it gets from one to another: each computed once for all runs and threads, whatever physical nodes are
// concerned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "models/job/job_model.h"
#include "models/migration/expert_migration.h"
#include "models/migration/node_mapping.h"
#include "models/placement/layer_classes.h"
#include "models/placement_search/place_experts.h"
#include "sim/base/errors.h"
#include "sim/base/shared_memo.h"

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
  using PlacementId = std::int64_t;  // of a number of nodes and a routing window

  // Keeps a reference to `job`. `expert`: bytes of one, in one layer. `dense`: bytes that a node which joins
  // fetches besides; 0: these are not counted. REQUIRES: a model with experts.
  LazarusPlacements(const JobModel& job, const LazarusRules& rules, const StepSettings& settings,
                    const MigrationTiming& timing, Bytes expert, Bytes dense = {});

  // The fewest nodes that hold every expert.
  [[nodiscard]] std::int32_t least_nodes() const;
  // The most of `nodes` nodes that whole replicas of the plan fill; 0: they cannot hold every expert.
  [[nodiscard]] std::int32_t whole(std::int32_t nodes) const;
  // Of those, the nodes that the job uses: all, unless its batch leaves some with nothing to do.
  [[nodiscard]] std::int32_t usable(std::int32_t nodes) const;

  // The fewest of which it uses any. REQUIRES: there is such a number.
  [[nodiscard]] std::int32_t least_usable() const;

  // Fails on what the plan or its cost model cannot do on so many nodes.
  [[nodiscard]] Result<StepTime> check(std::int32_t nodes) const;

  // For the loads of a routing window. REQUIRES: usable(nodes) == nodes > 0, and check() does not fail.
  [[nodiscard]] PlacementId placement(std::int32_t nodes, std::size_t window) const {
    return nodes * windows() + static_cast<PlacementId>(window);
  }
  [[nodiscard]] std::int32_t nodes(PlacementId placement) const {
    return static_cast<std::int32_t>(placement / windows());
  }
  [[nodiscard]] std::size_t window(PlacementId placement) const {
    return static_cast<std::size_t>(placement % windows());
  }

  [[nodiscard]] StepTime step(PlacementId placement, std::size_t window, double slowest) const;

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
  [[nodiscard]] Move move(PlacementId from, const std::vector<bool>& is_left, std::int32_t joined,
                          PlacementId to) const;

 private:
  using Layers = std::vector<ExpertPlacement>;  // one for each class of them

  [[nodiscard]] PlacementId windows() const { return static_cast<PlacementId>(job_->routing().windows()); }
  [[nodiscard]] std::int32_t unit() const;  // nodes that whole replicas fill
  [[nodiscard]] Result<Layers> place(std::int32_t nodes, std::size_t window) const;
  [[nodiscard]] const Layers& layers(PlacementId placement) const;
  [[nodiscard]] Result<StepTime> time(const Layers& layers, std::size_t window, double slowest) const;
  [[nodiscard]] Move compute(PlacementId from, const std::vector<bool>& is_left, std::int32_t joined,
                             PlacementId to) const;

  const JobModel* job_;
  LazarusRules rules_;
  StepSettings settings_;
  MigrationTiming timing_;
  Bytes expert_;
  Bytes dense_;
  LayerClasses classes_;                     // with the same loads in all windows
  mutable SharedMemo<1, Layers> layers_;     // by placement
  mutable SharedMemo<2, StepTime> healthy_;  // by placement and window
  // Also by speed, of which there may be no end.
  mutable BoundedMemo<std::tuple<PlacementId, std::size_t, double>, StepTime> slow_{10'000};
  mutable BoundedMemo<std::vector<std::uint64_t>, Move> moves_;
};

}  // namespace goodput
