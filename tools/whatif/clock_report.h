// What `goodput whatif` says about clocks.
#pragma once

#include <string>

#include "sim/base/json_fwd.h"
#include "tools/trace/load_recording.h"

namespace goodput {

// A line of the headline, and a table of the clocks that are off. Empty for a single clock.
[[nodiscard]] std::string clock_text(const LoadedRecording& loaded);

// The keys clocks_aligned, clocks and clock_conflicts.
void add_clock_json(const LoadedRecording& loaded, OrderedJson& json);

}  // namespace goodput
