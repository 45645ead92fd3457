// Searching for placements that survive more: what is sought, and two ways to seek it.
//
// A search never changes how many replicas an expert has. Same input, same result.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/placement/expert_placement.h"
#include "models/placement/node_sets.h"
#include "models/placement/placement_rules.h"
#include "models/placement_search/annealing.h"
#include "models/placement_search/failure_lattice.h"
#include "sim/base/random.h"

namespace goodput {

// What a placement is worth: the sum over k of the probability to survive k failures, and far less wherever
// it falls below a floor. A placement that is best at every k has the highest sum, whatever the weights, and
// nearly always there is one (docs/validation.md).
class SurvivalGoal {
 public:
  virtual ~SurvivalGoal() = default;
  // `experts`: the nodes of each.
  [[nodiscard]] virtual double value(const NodeSets& experts) const = 0;
};

// Of a cluster small enough for a lattice.
class LatticeGoal final : public SurvivalGoal {
 public:
  // `others`: what is fatal anyhow, for other layers' sake. `floor`: sets of k failures that must be
  // survived.
  LatticeGoal(const FailureLattice& lattice, FailureLattice::Fatal others,
              const FailureLattice::Counts& floor)
      : lattice_(lattice), others_(std::move(others)), floor_(floor) {}

  [[nodiscard]] double value(const NodeSets& experts) const override;
  [[nodiscard]] double value(const FailureLattice::Counts& survived) const;
  [[nodiscard]] FailureLattice::Counts survived(const NodeSets& experts) const;
  [[nodiscard]] bool meets_floor(const NodeSets& experts) const;
  [[nodiscard]] const FailureLattice& lattice() const { return lattice_; }

 private:
  const FailureLattice& lattice_;
  FailureLattice::Fatal others_;
  FailureLattice::Counts floor_;
};

// Of any cluster, for placements whose survival the recursion over nodes finds in few states.
class RecursionGoal final : public SurvivalGoal {
 public:
  // `floor`: probability to survive k failures, for as many k from 0 as count.
  RecursionGoal(std::vector<double> floor, std::size_t max_states)
      : floor_(std::move(floor)), max_states_(max_states) {}

  // Minus infinity where there are too many states.
  [[nodiscard]] double value(const NodeSets& experts) const override;

 private:
  std::vector<double> floor_;
  std::size_t max_states_;
};

struct ExhaustiveSearch {
  std::optional<ExpertPlacement> best{};  // of those above the value asked for; none when none was found
  bool finished = false;                  // then `best` is the best there is, and none means none
};
// The placement of the highest value, without floor or other layers, above `value`. Gives up after
// `max_tried` partial placements. REQUIRES: grid.nodes <= FailureLattice::kMaxNodes.
[[nodiscard]] ExhaustiveSearch search_exhaustively(const LayerDemand& layer, const SlotGrid& grid,
                                                   const FailureLattice& lattice, double value,
                                                   std::int64_t max_tried);

// The best placement met on the way from `start`.
[[nodiscard]] ExpertPlacement anneal_survival(const ExpertPlacement& start, const SurvivalGoal& goal,
                                              const Annealing& annealing, RandomStream& random);

}  // namespace goodput
