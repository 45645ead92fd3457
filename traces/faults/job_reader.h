// Jobs as `sacct` lists them, in lines or as JSON.
#pragma once

#include "sim/base/errors.h"
#include "sim/nodes/fault_log.h"
#include "traces/faults/log_table.h"

namespace goodput {

// Adds the jobs that started. Job steps are left out.
Status add_jobs(const LogTable& table, FailureLog& log);

}  // namespace goodput
