// The two forms of Kineto traces: of jobs on CPUs and on CUDA devices.
#pragma once

#include "sim/base/errors.h"
#include "sim/ops/rank_activity.h"
#include "traces/kineto/kineto_activity.h"
#include "traces/kineto/kineto_events.h"

namespace goodput {

// Fill steps, cuts, parts, gaps and names of an activity whose rank is known. REQUIRES: the events have
// steps.
Status fill_from_host(const KinetoEvents& events, RankActivity& activity);
Status fill_from_device(const KinetoEvents& events, const KinetoOptions& options, RankActivity& activity);

}  // namespace goodput
