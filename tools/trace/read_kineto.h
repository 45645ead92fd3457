// Reads the torch.profiler (Kineto) traces of a job that a command line names.
#pragma once

#include <string>
#include <vector>

#include "models/analysis/arranged_job.h"
#include "sim/base/errors.h"
#include "sim/ops/rank_activity.h"
#include "tools/cli/command.h"
#include "tools/trace/read_trace.h"

namespace goodput {

// Whether the files, after expand_folders(), are such traces: according to the format that the user names, or
// to the content of the first file that is neither empty nor a pipe. A file that cannot be read does not
// count; the reader of op traces reports why.
[[nodiscard]] bool mean_kineto(const TraceFiles& files);

// One activity per file, in their order. Reads with as many threads as --jobs says.
Result<std::vector<RankActivity>> read_activities(const TraceFiles& files, const CommandContext& context);

// Reads and arranges a job (models/collectives/arrange_collectives.h). Prints the notes, also on failure.
Result<ArrangedJob> load_kineto_job(const LoadOptions& options, const CommandContext& context);

}  // namespace goodput
