#include "models/placement_search/joint_layers.h"

#include <algorithm>
#include <utility>

#include "models/placement_search/survival_search.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

using Fatal = FailureLattice::Fatal;

void add_layer(Fatal& fatal, const ExpertPlacement& layer, const FailureLattice& lattice) {
  const NodeSets sets = innermost(expert_nodes(layer));
  for (std::size_t s = 0; s < sets.size(); ++s) {
    lattice.add(fatal, static_cast<std::uint32_t>(sets.words(s).front()));
  }
}

double value_of(const ExpertPlacement& layer, const LatticeGoal& goal) {
  return goal.value(innermost(expert_nodes(layer)));
}

void swap_nodes(ExpertPlacement& layer, std::int32_t a, std::int32_t b) {
  const auto first = layer.node(a);
  std::swap_ranges(first.begin(), first.end(), layer.node(b).begin());
}

// Renames nodes two by two while that helps.
void rename_nodes(ExpertPlacement& layer, const LatticeGoal& goal) {
  double value = value_of(layer, goal);
  for (bool helped = true; helped;) {
    helped = false;
    for (std::int32_t a = 0; a < layer.nodes; ++a) {
      for (std::int32_t b = a + 1; b < layer.nodes; ++b) {
        swap_nodes(layer, a, b);
        const double renamed = value_of(layer, goal);
        if (renamed > value + 1e-12) {
          value = renamed;
          helped = true;
        } else {
          swap_nodes(layer, a, b);
        }
      }
    }
  }
}

ExpertPlacement shuffled_nodes(const ExpertPlacement& layer, RandomStream& random) {
  ExpertPlacement shuffled = layer;
  for (std::int32_t n = layer.nodes; n > 1; --n) {
    swap_nodes(shuffled, n - 1, static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(n))));
  }
  return shuffled;
}

// From the names it has, and from a few at random.
bool fit_names(ExpertPlacement& layer, const LatticeGoal& goal, RandomStream& random) {
  constexpr int kStarts = 4;
  const double before = value_of(layer, goal);
  rename_nodes(layer, goal);
  for (int start = 0; start < kStarts; ++start) {
    ExpertPlacement other = shuffled_nodes(layer, random);
    rename_nodes(other, goal);
    if (value_of(other, goal) > value_of(layer, goal) + 1e-12) layer = std::move(other);
  }
  return value_of(layer, goal) > before + 1e-12;
}

}  // namespace

Fatal fatal_to_others(std::span<const ExpertPlacement> layers, std::size_t except,
                      const FailureLattice& lattice) {
  Fatal fatal = lattice.none();
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (l != except) add_layer(fatal, layers[l], lattice);
  }
  return fatal;
}

FailureLattice::Counts survived_by_all(std::span<const ExpertPlacement> layers,
                                       const FailureLattice& lattice) {
  return lattice.survived(fatal_to_others(layers, layers.size(), lattice));
}

void fit_layers(std::vector<ExpertPlacement>& layers, const FailureLattice& lattice,
                const SearchEffort& effort) {
  constexpr int kRounds = 3;
  RandomStream random(effort.seed, "fitted layers");
  for (int round = 0; round < kRounds; ++round) {
    bool helped = false;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const LatticeGoal goal(lattice, fatal_to_others(layers, l, lattice), {});
      helped = fit_names(layers[l], goal, random) || helped;
    }
    if (!helped) break;
  }
  // Cool: what is there is good, and close to what is sought.
  const double nodes = lattice.nodes() + 1;
  const Annealing annealing{effort.moves / 4, 1e-3 * nodes, 1e-5 * nodes};
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LatticeGoal goal(lattice, fatal_to_others(layers, l, lattice), {});
    layers[l] = anneal_survival(layers[l], goal, annealing, random);
    report_layer(effort);
  }
}

}  // namespace goodput
