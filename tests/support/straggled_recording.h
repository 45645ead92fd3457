// Stragglers injected into a recorded trace: what the job would have recorded with them.
#pragma once

#include <cstdint>
#include <vector>

#include "models/plan/stragglers.h"
#include "tests/support/analysed_trace.h"

namespace goodput::testing {

// Durations and transfer times stay as recorded, but for what the stragglers do to them. Launch delays are
// only the stragglers': recorded ones belong to waits that are elsewhere now.
[[nodiscard]] AnalysedTrace with_injected(AnalysedTrace trace, const std::vector<Straggler>& stragglers,
                                          std::uint64_t seed);

}  // namespace goodput::testing
