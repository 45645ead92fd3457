// Node faults that can be told from a list of jobs: jobs that lost a node, over the time that jobs held
// nodes.
#pragma once

#include <cstdint>

#include "sim/base/errors.h"
#include "sim/nodes/fault_history.h"
#include "sim/nodes/fault_log.h"

namespace goodput {

struct JobFaultOptions {
  HistoryOptions history{};
  bool counts_failed = false;  // jobs in state FAILED lost a node, too
};

struct JobFaults {
  FaultHistory history{};        // without repairs; up_time is the time that jobs held nodes
  std::int64_t failed_jobs = 0;  // in state FAILED, whether they count or not
  std::int64_t unnamed = 0;      // number of faults whose node is not known
};

// The node is the one that the list names as failed, else the one that the next job of the same name lacks,
// if that lacks exactly one. REQUIRES: log.jobs.
[[nodiscard]] Result<JobFaults> job_faults(const FailureLog& log, const JobFaultOptions& options);

}  // namespace goodput
