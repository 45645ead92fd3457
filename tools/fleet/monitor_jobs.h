// The jobs in a monitor's database as jobs of a fleet.
#pragma once

#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/fleet/fleet_job.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {

// Steps of a job that are looked at in detail, evenly spread among those whose details are kept: M_W, M_S,
// causes and op types are of these.
inline constexpr std::size_t kMostDetailedSteps = 200;

struct MonitorJobs {
  std::vector<FleetJob> jobs;
  std::vector<std::string> notes;  // what was left out: sentences
};

// A job of `store` for every one that has an analysed step. S and the discrepancy are of all its analysed
// steps; M_W and M_S are means weighted by what the steps lose, correlations plain means; a cause is likely
// that is so in half of the steps. GPU-hours are its GPUs times the hours from its first step to its last, a
// restart is a run after the first.
Result<MonitorJobs> read_monitor_jobs(MonitorStore& store, const std::string& file);

}  // namespace goodput
