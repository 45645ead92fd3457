#include "models/placement_search/layer_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "models/placement/survival.h"
#include "models/placement_search/failure_lattice.h"
#include "models/placement_search/survival_search.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

constexpr std::size_t kMaxStates = 1U << 12;  // of a recursion that a search may call thousands of times
constexpr std::int64_t kFewestMoves = 10;     // that are worth an annealing

// Groups of these sizes in ascending order of replicas, each on as many nodes as its first expert has
// replicas, on consecutive nodes as far as they reach; the last ones get a node each at least.
ExpertPlacement place_in_groups(const LayerDemand& layer, const SlotGrid& grid,
                                std::span<const std::size_t> sizes) {
  const std::vector<std::int32_t> order = experts_by_replicas(layer.replicas, layer.loads);
  std::vector<ExpertGroup> groups;
  std::vector<std::vector<std::int32_t>> node_sets;
  std::size_t first = 0;
  std::int32_t next_node = 0;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    ExpertGroup group;
    group.experts.assign(order.begin() + static_cast<std::ptrdiff_t>(first),
                         order.begin() + static_cast<std::ptrdiff_t>(first + sizes[g]));
    const auto groups_after = static_cast<std::int32_t>(sizes.size() - 1 - g);
    group.nodes = std::min(layer.replicas[index(order[first])], grid.nodes - next_node - groups_after);
    node_sets.emplace_back(index(group.nodes));
    std::iota(node_sets.back().begin(), node_sets.back().end(), next_node);
    next_node += group.nodes;
    first += sizes[g];
    groups.push_back(std::move(group));
  }
  return place_groups(layer, grid, groups, node_sets);
}

ExpertPlacement spread_by_replicas(const LayerDemand& layer, const SlotGrid& grid) {
  const std::vector<std::int32_t> order = experts_by_replicas(layer.replicas, layer.loads);
  std::vector<std::vector<std::int32_t>> nodes_of(layer.replicas.size());
  std::int32_t i = 0;
  for (const std::int32_t e : order) {
    for (std::int32_t r = 0; r < layer.replicas[index(e)]; ++r)
      nodes_of[index(e)].push_back(i++ % grid.nodes);
  }
  return placement_of(nodes_of, grid.nodes, grid.slots);
}

const ExpertPlacement& most_valued(std::span<const ExpertPlacement> plans, const SurvivalGoal& goal) {
  const ExpertPlacement* best = &plans.front();
  double best_value = -std::numeric_limits<double>::infinity();
  for (const ExpertPlacement& plan : plans) {
    const double value = goal.value(expert_nodes(plan));
    if (value <= best_value) continue;
    best_value = value;
    best = &plan;
  }
  return *best;
}

// In turns from the best plan and from spread, which are far apart.
ExpertPlacement anneal_from_plans(std::vector<ExpertPlacement> plans, const LayerDemand& layer,
                                  const SlotGrid& grid, const SurvivalGoal& goal, const SearchEffort& effort,
                                  std::int64_t moves) {
  const double nodes = grid.nodes + 1;
  const Annealing annealing{moves, 1e-2 * nodes, 1e-5 * nodes};
  const ExpertPlacement starts[] = {most_valued(plans, goal), place_spread(layer, grid)};
  for (std::int32_t i = 0; i < effort.anneals; ++i) {
    RandomStream random(effort.seed, "annealed placement", static_cast<std::uint64_t>(i));
    plans.push_back(anneal_survival(starts[i % 2], goal, annealing, random));
  }
  return most_valued(plans, goal);
}

// What mro and spread survive is not to be lost for survival at other numbers of failures.
FailureLattice::Counts survived_by_baselines(const LayerDemand& layer, const SlotGrid& grid,
                                             const FailureLattice& lattice) {
  const LatticeGoal free(lattice, lattice.none(), {});
  FailureLattice::Counts floor = free.survived(expert_nodes(place_mro(layer, grid)));
  const FailureLattice::Counts spread = free.survived(expert_nodes(place_spread(layer, grid)));
  for (std::size_t k = 0; k < floor.size(); ++k) floor[k] = std::max(floor[k], spread[k]);
  return floor;
}

// Easy layers are proven at once; for others, a good placement found by annealing lets the exhaustive search
// leave out most of the rest.
ExpertPlacement search_small(const LayerDemand& layer, const SlotGrid& grid, const SearchEffort& effort) {
  const FailureLattice lattice(grid.nodes);
  const LatticeGoal goal(lattice, lattice.none(), survived_by_baselines(layer, grid, lattice));
  const std::vector<ExpertPlacement> plans = starting_plans(layer, grid);
  ExpertPlacement best = most_valued(plans, goal);
  const auto prove = [&](std::int64_t tries) {
    ExhaustiveSearch search =
        search_exhaustively(layer, grid, lattice, goal.value(expert_nodes(best)), tries);
    const bool better = search.best && goal.meets_floor(expert_nodes(*search.best));
    if (better) best = *std::move(search.best);
    return search.finished && (better || !search.best);
  };
  if (prove(effort.tried / 10)) return best;
  std::vector<ExpertPlacement> starts = plans;
  starts.push_back(best);
  best = anneal_from_plans(std::move(starts), layer, grid, goal, effort, effort.moves);
  prove(effort.tried);
  return best;
}

// Where a lattice is too large; an evaluation takes far longer.
ExpertPlacement search_large(const LayerDemand& layer, const SlotGrid& grid, const SearchEffort& effort) {
  const std::int32_t failures = compared_failures(grid.nodes);
  std::vector<double> floor(index(failures) + 1);
  for (const ExpertPlacement& plan : {place_mro(layer, grid), place_spread(layer, grid)}) {
    const auto survived =
        survival_by_recursion(innermost(expert_nodes(plan)), failures, SurvivalOptions{}.max_states);
    // Without an exact answer nothing is known to be better than maximum rank overlap.
    if (!survived) return place_mro(layer, grid);
    for (std::size_t k = 0; k < floor.size(); ++k) floor[k] = std::max(floor[k], (*survived)[k]);
  }
  const RecursionGoal goal(floor, kMaxStates);
  std::vector<ExpertPlacement> plans = starting_plans(layer, grid);
  const double work =
      static_cast<double>(grid.nodes) * failures * layer.experts();  // of an evaluation, at least
  const auto moves = static_cast<std::int64_t>(static_cast<double>(effort.moves) * std::min(1.0, 1e3 / work));
  if (moves < kFewestMoves) return most_valued(plans, goal);
  return anneal_from_plans(std::move(plans), layer, grid, goal, effort, moves);
}

}  // namespace

std::vector<ExpertPlacement> starting_plans(const LayerDemand& layer, const SlotGrid& grid) {
  std::vector<ExpertPlacement> plans = {place_mro(layer, grid), place_spread(layer, grid),
                                        spread_by_replicas(layer, grid)};
  const auto experts = layer.replicas.size();
  const auto slots = index(grid.slots);
  const std::size_t groups = (experts + slots - 1) / slots;
  std::vector<std::size_t> equal(groups);
  for (std::size_t g = 0; g < groups; ++g) equal[g] = (experts * (g + 1)) / groups - (experts * g) / groups;
  plans.push_back(place_in_groups(layer, grid, equal));
  for (std::size_t is_short = 0; is_short + 1 < groups; ++is_short) {
    std::vector<std::size_t> sizes(groups, slots);
    sizes[is_short] = experts - (groups - 1) * slots;
    plans.push_back(place_in_groups(layer, grid, sizes));
  }
  return plans;
}

ExpertPlacement search_layer(const LayerDemand& layer, const SlotGrid& grid, const SearchEffort& effort) {
  return grid.nodes <= FailureLattice::kMaxNodes ? search_small(layer, grid, effort)
                                                 : search_large(layer, grid, effort);
}

}  // namespace goodput
