// From the tokens of a model's experts to replicas and slots: an allocation and a plan for all MoE layers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/placement/expert_placement.h"
#include "models/placement/placement_rules.h"
#include "models/placement/replica_allocation.h"
#include "models/placement_search/best_plan.h"
#include "sim/base/errors.h"

namespace goodput {

// How a placement is found.
enum class PlacementRule {
  kMro,      // maximum rank overlap (Lazarus)
  kBest,     // survives most, by search; then the most balanced
  kSpread,   // replica after replica on the next node
  kCompact,  // node after node is filled
  kEplb      // DeepSeek's: load alone counts
};
inline constexpr std::string_view kPlacementRuleNames[] = {"mro", "best", "spread", "compact", "eplb"};

// The nodes that hold the experts: alike, and failing as a whole.
struct ExpertNodes {
  std::int32_t nodes = 0;
  std::int32_t slots = 0;  // of a node
  std::int32_t gpus = 1;   // of a node; divides the slots
  [[nodiscard]] SlotGrid grid() const { return {nodes, slots}; }
};

struct PlacementChoice {
  Allocation allocation = Allocation::kBalanced;
  PlacementRule rule = PlacementRule::kBest;
  std::int32_t min_replicas = 2;
  SearchEffort effort{};
  // Groups of consecutive experts that stay on one node each, if nodes divide them (EPLB's num_groups); 1:
  // all experts go anywhere. REQUIRES: kEplb for allocation and rule if there are several.
  std::int32_t expert_groups = 1;
};

struct PlacedLayer {
  LayerDemand layer{};
  ExpertPlacement placement{};
};

struct PlacedLayers {
  std::vector<PlacedLayer> layers{};
  std::int32_t min_replicas = 0;  // really used
};

// Allocates and places the experts of all layers; `loads` by layer and expert. `balanced` with `best` goes on
// to shift replicas between experts where that balances GPUs and costs no survival; it survives no less than
// Eq. 1 with `mro` does at any number of failures. Errors: those of allocate_replicas and
// place_eplb_groups; GPUs that do not divide the slots; layers without the same experts.
[[nodiscard]] Result<PlacedLayers> place_experts(std::span<const std::vector<std::int64_t>> loads,
                                                 const ExpertNodes& nodes, const PlacementChoice& choice);

// The same with replicas given. Errors: those of check_replicas; GPUs that do not divide the slots.
[[nodiscard]] Result<PlacedLayers> place_replicas(std::span<const LayerDemand> layers,
                                                  const ExpertNodes& nodes, PlacementRule rule,
                                                  const SearchEffort& effort);

[[nodiscard]] std::vector<LayerDemand> demands_of(std::span<const PlacedLayer> layers);
[[nodiscard]] std::vector<ExpertPlacement> placements_of(std::span<const PlacedLayer> layers);

}  // namespace goodput
