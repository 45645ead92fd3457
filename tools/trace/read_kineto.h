// torch.profiler (Kineto) traces named on a command line: a job by its ranks.
#pragma once

#include <string>
#include <vector>

#include "models/analysis/arranged_job.h"
#include "sim/base/errors.h"
#include "sim/ops/rank_activity.h"
#include "tools/cli/command.h"
#include "tools/trace/read_trace.h"

namespace goodput {

// Whether the files, after expand_folders(), are meant as such: by the name of the format, or by the content
// of the first that is neither empty nor a pipe. A file that cannot be read is none: the reader of op traces
// says why.
[[nodiscard]] bool mean_kineto(const TraceFiles& files);

// One a file, in their order, read by as many threads as there are jobs.
Result<std::vector<RankActivity>> read_activities(const TraceFiles& files, const CommandContext& context);

// Reads and arranges (models/collectives/arrange_collectives.h). Prints the notes, also if it fails.
Result<ArrangedJob> load_kineto_job(const LoadOptions& options, const CommandContext& context);

}  // namespace goodput
