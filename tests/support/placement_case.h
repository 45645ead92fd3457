// Loads and numbers of replicas to place experts by, and what a placement survives, counted one failure at a
// time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/placement/expert_placement.h"
#include "models/placement/placement_rules.h"
#include "sim/base/random.h"
#include "tests/reference/placement_enumeration.h"

namespace goodput::testing {

using LayerLoads = std::vector<std::vector<std::int64_t>>;  // by layer and expert

// Layers 0 to 11 of the published trace at an iteration, the most loaded experts of each in order of their
// numbers. Nothing where there is no shared data (GOODPUT_SHARED_DATA/routing).
[[nodiscard]] std::optional<LayerLoads> published_loads(std::int64_t iteration, std::size_t experts);

// In proportion to 1/p^skew for the expert of popularity p; popularities in an order of their own in every
// layer.
struct ZipfLoads {
  std::size_t layers = 1;
  std::size_t experts = 16;
  double skew = 1;
  std::uint64_t seed = 1;
};
[[nodiscard]] LayerLoads zipf_loads(const ZipfLoads& spec);

// At least one replica for everybody, the others to anybody.
[[nodiscard]] std::vector<std::int32_t> random_replicas_of(RandomStream& random, const SlotGrid& grid,
                                                           std::int32_t experts);

// Counted by the reference. REQUIRES: at most 20 nodes.
[[nodiscard]] reference::SurvivedSets survived_sets(const ExpertPlacement& placement);

// To survive k = 0..N failures, exactly.
[[nodiscard]] std::vector<double> exact_survival(std::span<const ExpertPlacement> layers);

}  // namespace goodput::testing
