// A generated fleet on disk: what `goodput whatif --json` would say of each job, and what is true of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/fleet/fleet_member.h"
#include "models/fleet/fleet_mixture.h"
#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "tools/cli/command.h"

namespace goodput {

// What is true of a job, beside what it was dealt.
struct FleetTruth {
  FleetMember member;
  double slowdown = 1;
  double discrepancy = 0;
  std::vector<Straggler> stragglers;
};

// Makes `count` jobs, analyses each as `goodput whatif` would, and writes FOLDER/results/JOB.json and
// FOLDER/jobs.csv (job, gpus, gpu_hours, restarts: for `goodput fleet --job-info`). The folder must be new or
// empty.
Result<std::vector<FleetTruth>> write_fleet(const FleetMixture& mixture, std::size_t count,
                                            const std::string& folder, const CommandContext& context);

[[nodiscard]] std::string fleet_synth_text(const std::vector<FleetTruth>& jobs, const FleetMixture& mixture,
                                           const std::string& folder);

// Adds the members of goodput.synth-fleet/1 (docs/formats/fleets.md).
void add_fleet_synth_json(const std::vector<FleetTruth>& jobs, const FleetMixture& mixture,
                          OrderedJson& json);

}  // namespace goodput
