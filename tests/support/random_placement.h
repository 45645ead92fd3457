// Seeded expert placements, live nodes and new plans of all shapes, for property tests.
#pragma once

#include <cstdint>
#include <vector>

#include "models/migration/node_experts.h"
#include "sim/base/random.h"

namespace goodput::testing {

// Every expert has a replica; the other slots hold any. REQUIRES: experts <= nodes * slots.
[[nodiscard]] ExpertPlacement random_placement(RandomStream& random, std::int32_t experts, std::int32_t nodes,
                                               std::int32_t slots);

// Experts of nodes of which some died, others joined; a plan with as many or fewer nodes than are alive.
struct ReplacementCase {
  ClusterPlacement placed;
  std::vector<std::int32_t> live_ids;  // ascending
  std::vector<ExpertPlacement> plan;
};

// At most 8 nodes before and 8 alive, 3 layers, 70 experts (more than a word of bits) and 12 slots.
[[nodiscard]] ReplacementCase random_replacement(std::uint64_t seed);

}  // namespace goodput::testing
