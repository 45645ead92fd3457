#include "models/placement_search/layer_balance.h"

#include <algorithm>
#include <utility>

#include "models/placement/gpu_slots.h"
#include "models/placement_search/failure_lattice.h"
#include "models/placement_search/free_slot_moves.h"
#include "models/placement_search/joint_layers.h"

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

// In large layers GPUs are close when nodes are; to look at each would take longer than all the rest.
std::int32_t gpus_balanced(const ExpertPlacement& layer, std::int32_t gpus_per_node) {
  return layer.expert_at.size() <= kMaxShiftedSlots ? gpus_per_node : 1;
}

double busiest_gpu(const LayerOnGpus& layer) {
  return load_imbalance(layer.placement, layer.layer, layer.gpus).gpu_max_over_mean;
}

LayerOnGpus swapped(std::span<const ExpertPlacement> layers, std::size_t l, const LayerOnGpus& start,
                    const SearchEffort& effort) {
  RandomStream random(effort.seed, "balanced layer", l);
  const Annealing annealing = annealing_for(layers[l], effort.moves);
  if (!is_small(layers)) return swap_free_slots(start, annealing, random);
  const FailureLattice lattice(layers[l].nodes);
  return swap_checked_slots(start, keeping_survival(layers, l, lattice), annealing, random);
}

LayerOnGpus shifted(std::span<const ExpertPlacement> layers, std::size_t l, const LayerOnGpus& start,
                    std::int32_t min_replicas, const SearchEffort& effort) {
  RandomStream random(effort.seed, "shifted replicas", l);
  const Annealing annealing{2 * effort.moves, kHot, kCold};
  if (!is_small(layers)) return shift_free_slots(start, min_replicas, annealing, random);
  const FailureLattice lattice(layers[l].nodes);
  return shift_checked_slots(start, min_replicas, keeping_survival(layers, l, lattice), annealing, random);
}

}  // namespace

void balance_layers(std::vector<ExpertPlacement>& layers, std::span<const LayerDemand> demands,
                    std::int32_t gpus_per_node, const SearchEffort& effort) {
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (demands[l].loads.empty()) continue;
    const LayerOnGpus start{demands[l], layers[l], gpus_balanced(layers[l], gpus_per_node)};
    LayerOnGpus layer = swapped(layers, l, start, effort);
    report_layer(effort);
    if (start.gpus == 1 || busiest_gpu(layer) < busiest_gpu(start)) layers[l] = std::move(layer.placement);
  }
}

void shift_replicas(std::vector<ExpertPlacement>& layers, std::vector<LayerDemand>& demands,
                    std::int32_t min_replicas, std::int32_t gpus_per_node, const SearchEffort& effort) {
  if (layers.front().expert_at.size() > kMaxShiftedSlots) return;
  const SlotGrid grid{layers.front().nodes, layers.front().slots};
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerOnGpus start{demands[l], layers[l], gpus_per_node};
    LayerOnGpus layer = shifted(layers, l, start, min_replicas, effort);
    report_layer(effort);
    if (busiest_gpu(layer) >= busiest_gpu(start)) continue;
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
