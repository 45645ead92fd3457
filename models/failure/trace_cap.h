// A recording of many nodes, seen by a job that wants fewer (TraceCap).
#pragma once

#include <vector>

#include "models/failure/failure_configs.h"
#include "models/failure/failure_draws.h"
#include "sim/base/errors.h"
#include "sim/nodes/failure_model.h"
#include "sim/nodes/spot_trace.h"

namespace goodput {

// The events of `events` that the job sees, and those that `cap` makes of them. Error::where is a pointer
// from the cap: names that the trace does not have.
Result<std::vector<NodeEvent>> capped(const std::vector<NodeEvent>& events, const TraceCap& cap,
                                      const SpotTrace& trace, const FailureKey& key);

}  // namespace goodput
