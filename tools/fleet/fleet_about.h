// What is known of the jobs of a fleet besides their analysis: a table that somebody wrote.
#pragma once

#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/fleet/fleet_job.h"

namespace goodput {

// A CSV file with a column `job` and any of `gpus`, `gpu_hours` and `restarts`; empty fields are not known,
// other columns are ignored. What it says goes before what was read; `gpus` alone scales the GPU-hours that
// were read. The result: what does not fit, for
// people.
Result<std::vector<std::string>> tell_about_jobs(const std::string& file, std::vector<FleetJob>& jobs);

}  // namespace goodput
