// Results of `goodput whatif --json` read back as jobs of a fleet.
#pragma once

#include <string>

#include "sim/base/errors.h"
#include "tools/fleet/fleet_job.h"

namespace goodput {

inline constexpr const char* kWhatIfSchema = "goodput.whatif/1";

// One result, in full, in `text` of `file`. Its GPU-hours are those of the steps that were analysed. Fails,
// naming the place, on what is no JSON, of another schema or a newer version of it, and on numbers that are
// missing or cannot be.
Result<FleetJob> read_whatif_result(std::string text, const std::string& file);

}  // namespace goodput
