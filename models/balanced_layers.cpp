#include "models/balanced_layers.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "models/failure_lattice.h"
#include "models/free_slot_balance.h"
#include "models/joint_layers.h"
#include "models/moe_balance.h"

namespace goodput {
namespace {

// Temperatures in the unit of unevenness, where an even node counts 1.
constexpr double kHot = 1e-1;
constexpr double kCold = 1e-5;

bool is_small(std::span<const ExpertPlacement> layers) {
  return layers.front().nodes <= FailureLattice::kMaxNodes;
}

// Large layers are nearly even from the start, and a move in them costs more.
Annealing annealing_for(const ExpertPlacement& layer, std::int64_t moves) {
  constexpr std::int64_t kSlots = 1024;
  const auto slots = static_cast<std::int64_t>(layer.expert_at.size());
  return {slots <= kSlots ? moves : std::max<std::int64_t>(1, moves * kSlots / slots), kHot, kCold};
}

// What no layer may lose: what all survive together now.
LatticeGoal keeping_survival(std::span<const ExpertPlacement> layers, std::size_t layer,
                             const FailureLattice& lattice) {
  return {lattice, fatal_to_others(layers, layer, lattice), survived_by_all(layers, lattice)};
}

BalancedLayer shifted(std::span<const ExpertPlacement> layers, std::size_t l, const LayerDemand& demand,
                      const ShiftLimits& limits, const SearchEffort& effort) {
  RandomStream random(effort.seed, "shifted replicas", l);
  const BalancedLayer start{demand, layers[l]};
  const Annealing annealing{2 * effort.moves, kHot, kCold};
  if (!is_small(layers)) return shift_free_slots(start, limits, annealing, random);
  const FailureLattice lattice(layers[l].nodes);
  return anneal_replicas(start, limits, keeping_survival(layers, l, lattice), annealing, random);
}

ShiftLimits limits_of(const LayerDemand& layer, std::int32_t min_replicas, std::int32_t gpus_per_node) {
  double heaviest = std::numeric_limits<double>::infinity();
  if (gpus_per_node > 1) {
    heaviest = 0;
    for (std::int32_t e = 0; e < layer.experts(); ++e)
      heaviest = std::max(heaviest, layer.load_per_replica(e));
  }
  return {min_replicas, heaviest};
}

}  // namespace

void balance_layers(std::vector<ExpertPlacement>& layers, std::span<const LayerDemand> demands,
                    const SearchEffort& effort) {
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (demands[l].loads.empty()) continue;
    RandomStream random(effort.seed, "balanced layer", l);
    const Annealing annealing = annealing_for(layers[l], effort.moves);
    if (is_small(layers)) {
      const FailureLattice lattice(layers[l].nodes);
      layers[l] =
          anneal_balance(layers[l], demands[l], keeping_survival(layers, l, lattice), annealing, random);
    } else {
      layers[l] = swap_free_slots({demands[l], layers[l]}, annealing, random);
    }
  }
}

void shift_replicas(std::vector<ExpertPlacement>& layers, std::vector<LayerDemand>& demands,
                    std::int32_t min_replicas, std::int32_t gpus_per_node, const SearchEffort& effort) {
  if (layers.front().expert_at.size() > kMaxShiftedSlots) return;
  const SlotGrid grid{layers.front().nodes, layers.front().slots};
  const auto busiest = [&](const ExpertPlacement& placement, const LayerDemand& layer) {
    return placement_balance(placement, layer, gpus_per_node).gpu_max_over_mean;
  };
  for (std::size_t l = 0; l < layers.size(); ++l) {
    BalancedLayer layer =
        shifted(layers, l, demands[l], limits_of(demands[l], min_replicas, gpus_per_node), effort);
    if (busiest(layer.placement, layer.layer) >= busiest(layers[l], demands[l])) continue;
    // The small walk has seen to it; the large one knows of maximum rank overlap only.
    if (layers.size() == 1 && !is_small(layers) && !is_untruncated(layer.layer, grid) &&
        !survives_as_baselines({&layer.placement, 1}, {&layer.layer, 1}, grid)) {
      continue;
    }
    layers[l] = std::move(layer.placement);
    demands[l] = std::move(layer.layer);
  }
}

}  // namespace goodput
