// What of a sweep can be known before anything runs.
#pragma once

#include "models/scenario/scenario.h"
#include "sim/base/errors.h"
#include "tools/sweep/point_runner.h"
#include "tools/sweep/store/sweep_folder.h"
#include "tools/sweep/sweep_request.h"

namespace goodput {

// Fails where no point can be read, above all for a pointer that there is not; where spares would be none,
// because the failures say themselves how many nodes there are; and where the policies of a stopping rule do
// not run. The result is the first point that can be read.
Result<std::uint64_t> check_sweep(const SweepRequest& request, PointRunner& runner);

// What the folder of the sweep says of it. `point`: one that can be read.
SweepManifest make_sweep_manifest(const SweepRequest& request, std::uint64_t point, PointRunner& runner);

}  // namespace goodput
