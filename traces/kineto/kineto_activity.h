// Turns the events of a torch.profiler file into what its rank did: its steps, where its track is cut, and
// its parts in collectives and messages.
#pragma once

#include <string>

#include "sim/base/errors.h"
#include "sim/ops/rank_activity.h"
#include "traces/kineto/kineto_events.h"

namespace goodput {

struct KinetoOptions {
  bool one_group = false;  // collectives that name no process group run over all ranks
};

// Consumes the events. Fails, naming the file, if no analysis could use it: no rank, no steps, no
// communication in a job of several ranks, messages without peers, kernels without process groups.
Result<RankActivity> rank_activity(KinetoEvents events, const KinetoOptions& options);

}  // namespace goodput
