// Which part of a sweep this process runs.
#pragma once

#include <string>

#include "sim/base/errors.h"
#include "tools/cli/command.h"
#include "tools/sweep/store/sweep_folder.h"

namespace goodput {

// `option`: of --shard, "I/N"; empty: what Slurm says to the tasks of an array and of a step, and else all of
// it.
Result<Shard> choose_shard(const std::string& option, const CommandContext& context);

// Slurm runs this job not for the first time: it was preempted, or its node failed.
[[nodiscard]] bool is_requeued(const CommandContext& context);

}  // namespace goodput
