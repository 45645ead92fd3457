// The plan `best`: of the placements that survive as much as we can find, the most balanced one.
//
// All layers of a model fail together, so they are placed together: node n of every layer is the same
// machine.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/placement/expert_placement.h"
#include "models/placement/placement_rules.h"

namespace goodput {

// How long to search where no closed form is best: truncated layers, and layers that have to agree. Of
// several layers each gets half the annealings and a quarter of the tries.
struct SearchEffort {
  std::int64_t tried = 400'000;  // partial placements of a layer, before an exhaustive search is given up
  std::int64_t moves = 20'000;   // of an annealing
  std::int32_t anneals = 4;      // of a layer
  std::uint64_t seed = 0;
  std::function<void()> layer_done{};  // called whenever a layer has come through one more step
};

inline void report_layer(const SearchEffort& effort) {
  if (effort.layer_done) effort.layer_done();
}

// What is proven about a layer: whichever is chosen, no placement survives more than survival_bound().
//
// Untruncated layers (is_untruncated) stand in groups of maximum rank overlap. The groups of all layers are
// anchored: group i has nodes in common in all of them, which makes the layers fail together rather than one
// by one. Truncated layers are searched: exhaustively, else by annealing from several plans. Up to
// FailureLattice::kMaxNodes nodes, layers are then fitted to each other. At last nodes are balanced without
// losing survival (models/placement_search/layer_balance.h).
//
// Survives at every number of failures at least what `mro` and `spread` survive, as far as their survival is
// found exactly. REQUIRES: layers; replicas as check_replicas wants them.
[[nodiscard]] std::vector<ExpertPlacement> place_best(std::span<const LayerDemand> layers,
                                                      const SlotGrid& grid, const SearchEffort& effort = {},
                                                      std::int32_t gpus_per_node = 1);

// Whether the layers survive, at every number of failures, at least what the others do. What is not found
// exactly does not count, unless it is the layers' own.
[[nodiscard]] bool survives_as_often(std::span<const ExpertPlacement> layers,
                                     std::span<const ExpertPlacement> others);
// ... what `mro` and `spread` of these replicas do.
[[nodiscard]] bool survives_as_baselines(std::span<const ExpertPlacement> placements,
                                         std::span<const LayerDemand> layers, const SlotGrid& grid);

// Upper bound of the probability that any placement of these replicas survives k = 0..max_failures failed
// nodes. A truncated layer's: that of its full groups, and 0 where fewer nodes are left than groups.
[[nodiscard]] std::vector<double> survival_bound(std::span<const LayerDemand> layers, const SlotGrid& grid,
                                                 std::int32_t max_failures);

}  // namespace goodput
