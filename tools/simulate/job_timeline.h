// The life of a job under every policy as a timeline for a trace viewer (ui.perfetto.dev).
//
// A process is a policy. Its thread "job" shows what the job does; every node that was ever held has a thread
// with what it takes part in, and `idle_node` while it is held and does nothing. Courses (restart,
// reconfiguration, ...) are instants of the job, losses, returns and changes of speed those of nodes. Times
// are whole microseconds, rounded down. Slices of a thread never overlap.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/nodes/failure_model.h"
#include "tools/simulate/recorded_run.h"

namespace goodput {

// Chrome trace JSON, gzip when `final_path`, the name `path` is going to have, ends in .gz.
Status write_job_timeline(std::span<const RecordedRun> runs,
                          const std::function<std::string(NodeId)>& node_name, const std::string& path,
                          std::string_view final_path);

}  // namespace goodput
