// From the events of a torch.profiler file to what its rank did: its steps, where its track is cut, and its
// parts in collectives and messages. kineto.md calls these rules R1, R2, R4 and R7.
#pragma once

#include <string>

#include "sim/base/errors.h"
#include "sim/ops/rank_activity.h"
#include "traces/kineto/kineto_events.h"

namespace goodput {

struct KinetoOptions {
  bool one_group = false;  // collectives without a group are of one group of all ranks
};

// Consumes the events. Fails, naming the file, on what no analysis can use: no rank, no steps, no
// communication in a job of several ranks, messages without peers, kernels without process groups.
Result<RankActivity> rank_activity(KinetoEvents events, const KinetoOptions& options);

}  // namespace goodput
