// Reads failure logs: lists of faults as CSV or JSON, `sacctmgr list event` and `sacct` of Slurm
// (docs/formats/failure-logs.md).
#pragma once

#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/nodes/fault_log.h"
#include "traces/faults/fault_columns.h"
#include "traces/faults/log_table.h"

namespace goodput {

struct FaultLogOptions {
  RoleNames columns{};  // by role, of lists of faults
};

// Adds what is in the file to `log`. The content says which kind of log it is. Fails on rows that make no
// sense, and on files whose times do not go with those of the files before.
Status read_failure_log(const std::string& path, const FaultLogOptions& options, FailureLog& log);
Status add_failure_log(const LogTable& table, const FaultLogOptions& options, FailureLog& log);

// Whether a file that begins like this is a list of faults or events, and no list of jobs.
[[nodiscard]] bool is_fault_list(std::string_view head);
// Whether it is a list of jobs, as sacct prints it.
[[nodiscard]] bool is_job_list(std::string_view head);

}  // namespace goodput
