// How many nodes a spot trace has, over time.
#pragma once

#include <vector>

#include "sim/nodes/spot_trace.h"

namespace goodput {

// Changes only, the first at time 0 (also where nobody is there yet): `trace.counts`, or the nodes that are
// there after all events of a moment.
[[nodiscard]] std::vector<SpotCount> spot_counts(const SpotTrace& trace);

}  // namespace goodput
