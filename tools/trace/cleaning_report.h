// What was not as it should be in a trace, for people and programs.
#pragma once

#include <span>
#include <string>

#include "sim/base/json_fwd.h"
#include "sim/ops/cleaning_finding.h"

namespace goodput {

// A table with a line a finding: how many of what, what was done, in which steps. Empty without findings.
[[nodiscard]] std::string cleaning_text(std::span<const CleaningFinding> findings);

// [{"rule", "found", "done", "count", "steps", "detail"}]
[[nodiscard]] OrderedJson cleaning_json(std::span<const CleaningFinding> findings);

}  // namespace goodput
