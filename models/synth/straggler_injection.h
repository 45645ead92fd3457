// Stragglers in a synthetic trace: how each kind of them changes what ops take, and how late they start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/plan/stragglers.h"
#include "models/synth/lane_table.h"
#include "models/synth/synthetic_step.h"

namespace goodput {

// The table with all stragglers in turn. Each draws from a stream of its own, so that leaving one out moves
// none of the others: `left_out` is the position of one that is not injected; an uneven partition becomes an
// even one of the same work instead. REQUIRES: check_stragglers().
[[nodiscard]] LaneTable with_stragglers(const SyntheticStep& step, LaneTable table,
                                        const std::vector<Straggler>& stragglers, std::uint64_t seed,
                                        std::optional<std::size_t> left_out = std::nullopt);

}  // namespace goodput
