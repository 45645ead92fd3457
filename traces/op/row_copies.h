// Rows of a step that files hold several times.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/ops/op_trace.h"
#include "traces/op/run_cutting.h"

namespace goodput {

// The further copies of what workers recorded in a step, when all their rows in it are there as often or a
// multiple of that: equal rows alone are no copies, for ops without ids may be alike.
[[nodiscard]] std::vector<std::size_t> find_row_copies(const OpTrace& trace, const RowWorkers& workers,
                                                       RunRows step);

}  // namespace goodput
