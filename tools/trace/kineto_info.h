// `goodput trace info` for torch.profiler (Kineto) traces.
#pragma once

#include "sim/base/errors.h"
#include "tools/cli/command.h"
#include "tools/trace/read_trace.h"

namespace goodput {

// Prints what the traces of a job's ranks hold, also of a job that `whatif` refuses.
// REQUIRES: mean_kineto().
Result<ExitCode> run_kineto_info(const TraceFiles& files, const CommandContext& context);

}  // namespace goodput
