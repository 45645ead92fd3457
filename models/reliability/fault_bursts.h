// Faults of several nodes at about the same time: more of them than independent faults would show.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/nodes/fault_history.h"

namespace goodput {

struct FaultBurst {
  SimTime begin{};
  std::vector<std::size_t> faults{};  // indices, ascending
};

struct FaultBursts {
  std::vector<FaultBurst> bursts{};  // by begin
  // The longest window that was tried, and how many nodes have to fail within it to be a burst.
  SimDuration window{};
  std::int64_t least_nodes = 0;
};

// Looks for bursts within 5 min, 1 min and 10 s, or within `window` alone, each longer by the resolution of
// the log's times. A burst has so many nodes that fewer than 0.05 such groups are expected from as many
// independent faults. REQUIRES: `faults`, some of the history's, ascend by begin.
[[nodiscard]] FaultBursts find_fault_bursts(std::span<const NodeFault> faults, const FaultHistory& history,
                                            std::optional<SimDuration> window);

}  // namespace goodput
