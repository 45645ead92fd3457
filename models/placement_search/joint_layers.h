// The layers of one model on a small cluster: they fail together, so which node is which is chosen for all of
// them at once.
#pragma once

#include <span>
#include <vector>

#include "models/placement/expert_placement.h"
#include "models/placement_search/best_plan.h"
#include "models/placement_search/failure_lattice.h"

namespace goodput {

// What is fatal to any layer but one; to any at all when `except` is none of them.
[[nodiscard]] FailureLattice::Fatal fatal_to_others(std::span<const ExpertPlacement> layers,
                                                    std::size_t except, const FailureLattice& lattice);

// Sets of k failed nodes that all layers survive, by k.
[[nodiscard]] FailureLattice::Counts survived_by_all(std::span<const ExpertPlacement> layers,
                                                     const FailureLattice& lattice);

// Renames nodes and swaps replicas, layer by layer, while the layers together survive more.
void fit_layers(std::vector<ExpertPlacement>& layers, const FailureLattice& lattice,
                const SearchEffort& effort);

}  // namespace goodput
