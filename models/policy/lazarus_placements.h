// The placements that Lazarus (arXiv 2407.04656) gives the experts of a job on the nodes of each pipeline
// stage, what steps take with them, and how a stage gets from one to another: each computed once for all runs
// and threads, whatever physical nodes are concerned.
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

// A plan with pipeline stages has the experts of a stage on that stage's nodes. Nodes come in units that
// whole stages of replicas fill (MoeStepModel::stage_unit). All stages have as many units, but for what is
// left over: so many stages have one more, which adds replicas of experts and no speed.
class LazarusPlacements {
 public:
  using PlacementId = std::int64_t;  // of a number of nodes of a stage and a routing window

  // Keeps a reference to `job`. `expert`: bytes of one, in one layer. `dense`: bytes of all other state that
  // nodes which join fetch, of the whole model; 0: these are not counted. REQUIRES: check_flexible() of the
  // job's steps.
  LazarusPlacements(const JobModel& job, const LazarusRules& rules, const StepSettings& settings,
                    const MigrationTiming& timing, Bytes expert, Bytes dense = {});

  [[nodiscard]] std::size_t stages() const { return stages_.size(); }

  // The fewest nodes that hold every expert.
  [[nodiscard]] std::int32_t least_nodes() const;
  // The most of `nodes` nodes that whole replicas of the plan fill; 0: they cannot hold every expert.
  [[nodiscard]] std::int32_t whole(std::int32_t nodes) const;
  // Of those, the nodes that the job uses: all, unless its batch leaves some with nothing to do.
  [[nodiscard]] std::int32_t usable(std::int32_t nodes) const;
  // The fewest of which it uses any. REQUIRES: there is such a number.
  [[nodiscard]] std::int32_t least_usable() const;

  // Of so many nodes, those of the stages that have fewest.
  [[nodiscard]] std::int32_t narrowest(std::int32_t nodes) const;
  // Of so many nodes, those of each stage. `left`: that each has already; those with most get the units left
  // over, the first of equals. REQUIRES: usable(nodes) == nodes > 0.
  [[nodiscard]] std::vector<std::int32_t> share_out(std::int32_t nodes,
                                                    const std::vector<std::int32_t>& left) const;

  // Fails on what the plan or its cost model cannot do on so many nodes. REQUIRES: usable(nodes) == nodes >
  // 0.
  [[nodiscard]] Result<StepTime> check(std::int32_t nodes) const;

  // For the loads of a routing window, on nodes of one stage. REQUIRES: share_out() gives so many to a stage,
  // and check() does not fail.
  [[nodiscard]] PlacementId placement(std::int32_t nodes_of_stage, std::size_t window) const {
    return nodes_of_stage * windows() + static_cast<PlacementId>(window);
  }
  [[nodiscard]] std::int32_t nodes_of_stage(PlacementId placement) const {
    return static_cast<std::int32_t>(placement / windows());
  }
  [[nodiscard]] std::size_t window(PlacementId placement) const {
    return static_cast<std::size_t>(placement % windows());
  }

  // With that placement on every stage: the stages with fewest nodes set the pace.
  [[nodiscard]] StepTime step(PlacementId placement, std::size_t window, double slowest) const;

  // Of a stage, from one placement to another. Nodes are called after the places they had: 0 .. n-1; those
  // that joined are n, n+1, ...
  struct Move {
    bool is_possible = false;                   // every expert still has a node that holds it
    std::vector<std::int32_t> node_of_place{};  // of the new placement
    std::int64_t experts = 0;                   // transferred
    MigrationTime time{};
  };
  // `is_left`: by place of `from`, whether its node still holds what it held.
  // REQUIRES: nodes left and joined are at least nodes_of_stage(to).
  [[nodiscard]] Move move(std::size_t stage, PlacementId from, const std::vector<bool>& is_left,
                          std::int32_t joined, PlacementId to) const;

 private:
  struct Stage {
    std::vector<std::size_t> layers{};  // with experts
    LayerClasses classes{};             // of those, with the same loads in all windows
    Bytes dense{};                      // that a node which joins fetches
  };
  using Layers = std::vector<ExpertPlacement>;  // one for each class of a stage

  [[nodiscard]] PlacementId windows() const { return static_cast<PlacementId>(job_->routing().windows()); }
  // Nodes of a stage that hold its experts.
  [[nodiscard]] std::int32_t holding() const;
  [[nodiscard]] Result<Layers> place(const Stage& stage, PlacementId placement) const;
  [[nodiscard]] const Result<Layers>& placed(std::size_t stage, PlacementId placement) const;
  [[nodiscard]] const Layers& layers(std::size_t stage, PlacementId placement) const;
  [[nodiscard]] Result<StepTime> time(PlacementId placement, std::size_t window, double slowest) const;
  [[nodiscard]] Move compute(std::size_t stage, PlacementId from, const std::vector<bool>& is_left,
                             std::int32_t joined, PlacementId to) const;

  const JobModel* job_;
  LazarusRules rules_;
  StepSettings settings_;
  MigrationTiming timing_;
  Bytes expert_;
  std::int32_t unit_;  // of nodes
  std::vector<Stage> stages_;
  // Of all layers, each of one stage, and where its placement is.
  LayerClasses classes_;
  std::vector<std::pair<std::size_t, std::size_t>> in_stage_;  // by class: stage, and class of that
  mutable SharedMemo<2, Result<Layers>> layers_;               // by stage and placement
  mutable SharedMemo<2, StepTime> healthy_;                    // by placement and window
  // Also by speed, of which there may be no end.
  mutable BoundedMemo<std::tuple<PlacementId, std::size_t, double>, StepTime> slow_{10'000};
  mutable BoundedMemo<std::vector<std::uint64_t>, Move> moves_;
};

}  // namespace goodput
