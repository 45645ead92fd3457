// A trial of a policy, second by second: for timelines and curves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/scenario/scenario.h"
#include "models/scenario/simulation.h"
#include "sim/base/errors.h"
#include "sim/base/units.h"
#include "sim/job/job_log.h"
#include "sim/nodes/failure_model.h"

namespace goodput {

struct RecordedRun {
  std::string policy;  // its name in the scenario
  JobLog log;
  std::vector<NodeEvent> events;  // of the nodes, before `end`; those of time 0 first
  SimTime end{};

  // How many nodes are held from each moment on at which that changes; the first moment is 0.
  [[nodiscard]] std::map<SimTime, std::int32_t> nodes_held() const;
};

// One trial of every policy.
Result<std::vector<RecordedRun>> record_runs(const Scenario& scenario, const SimulationInputs& inputs,
                                             std::uint64_t seed, std::uint64_t trial);

}  // namespace goodput
