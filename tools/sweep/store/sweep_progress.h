// Which shards of a sweep are still to be run, in words.
#pragma once

#include <string>

#include "sim/base/errors.h"
#include "tools/sweep/store/sweep_folder.h"

namespace goodput {

// REQUIRES: progress that is not complete().
[[nodiscard]] Error not_complete(const std::string& dir, const SweepProgress& progress);

}  // namespace goodput
