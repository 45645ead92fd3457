// What `goodput whatif` says about clocks.
#pragma once

#include <string>

#include "sim/analysis/analysis.h"
#include "sim/base/json_fwd.h"

namespace goodput {

// A line and a table of the clocks that are off. Empty if none is.
[[nodiscard]] std::string clock_text(const Analysis& analysis);

// The keys clocks_aligned, clocks and clock_conflicts.
void add_clock_json(const Analysis& analysis, OrderedJson& json);

}  // namespace goodput
