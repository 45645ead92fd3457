// Reads a spot trace from a file in any known format (traces/spot/spot_format.h).
#pragma once

#include <string>

#include "sim/base/errors.h"
#include "sim/nodes/spot_trace.h"
#include "traces/spot/spot_format.h"

namespace goodput {

// Errors name file and line (or JSON pointer): what cannot be read, rows out of order, nodes that cannot come
// or go, and what the content leaves open (polarity, meaning), with the option that settles it.
Result<SpotTrace> read_spot_trace(const std::string& path, const SpotOptions& options);

// Whether the content of the file is, or is meant to be, a spot trace. Fails when it cannot be read.
Result<bool> is_spot_trace(const std::string& path);

}  // namespace goodput
