#include "models/placement_search/survival_search.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "models/placement/survival.h"
#include "models/placement_search/annealing.h"
#include "sim/base/errors.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

// A probability below the floor weighs this many above it.
constexpr double kBelowFloor = 1000;

std::uint32_t mask(const NodeSets& sets, std::size_t set) {
  return static_cast<std::uint32_t>(sets.words(set).front());
}

}  // namespace

FailureLattice::Counts LatticeGoal::survived(const NodeSets& experts) const {
  FailureLattice::Fatal fatal = others_;
  for (std::size_t e = 0; e < experts.size(); ++e) lattice_.add(fatal, mask(experts, e));
  return lattice_.survived(fatal);
}

double LatticeGoal::value(const FailureLattice::Counts& survived) const {
  double value = 0;
  for (std::size_t k = 0; k <= index(lattice_.nodes()); ++k) {
    const std::int64_t missing = std::max<std::int64_t>(0, floor_[k] - survived[k]);
    value += (static_cast<double>(survived[k]) - kBelowFloor * static_cast<double>(missing)) /
             static_cast<double>(lattice_.sets()[k]);
  }
  return value;
}

double LatticeGoal::value(const NodeSets& experts) const {
  return value(survived(experts));
}

bool LatticeGoal::meets_floor(const NodeSets& experts) const {
  const FailureLattice::Counts counts = survived(experts);
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] < floor_[k]) return false;
  }
  return true;
}

double RecursionGoal::value(const NodeSets& experts) const {
  const auto survived =
      survival_by_recursion(innermost(experts), static_cast<std::int32_t>(floor_.size()) - 1, max_states_);
  if (!survived) return -std::numeric_limits<double>::infinity();
  double value = 0;
  for (std::size_t k = 0; k < survived->size(); ++k) {
    value += (*survived)[k] - kBelowFloor * std::max(0.0, floor_[k] - (*survived)[k]);
  }
  return value;
}

ExpertPlacement anneal_survival(const ExpertPlacement& start, const SurvivalGoal& goal,
                                const Annealing& annealing, RandomStream& random) {
  SlotState state(start);
  double value = goal.value(state.nodes_of_experts());
  double best_value = value;
  std::vector<std::int32_t> best = state.expert_at();
  Cooling cooling(annealing);
  for (std::int64_t move = 0; move < annealing.moves; ++move, cooling.cool()) {
    const auto swap = draw_swap(state, state.slots_of_node(), random);
    if (!swap) continue;
    state.swap(swap->a, swap->b);
    const double swapped = goal.value(state.nodes_of_experts());
    if (!cooling.accepts(value - swapped, random)) {
      state.swap(swap->a, swap->b);
      continue;
    }
    value = swapped;
    if (value <= best_value) continue;
    best_value = value;
    best = state.expert_at();
  }
  return with_slots(start, std::move(best));
}

}  // namespace goodput
