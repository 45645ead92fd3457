// What a fixed batch leaves idle (models/job/step_batch.h), said before any run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/job/job_model.h"
#include "models/job/training_speed.h"

namespace goodput {

// How many of so many nodes a job uses: 0 of too few.
using NodesUsed = std::function<std::int32_t(std::int32_t)>;

// At most one: of all nodes, else of the most on which some that the job could fill idle, once others are
// lost. `whole`: without regard to the batch; it and `usable` as in TrainingSpeed.
[[nodiscard]] std::vector<std::string> idle_node_warnings(const JobModel& job, const NodesUsed& whole,
                                                          const NodesUsed& usable);
[[nodiscard]] std::vector<std::string> idle_node_warnings(const JobModel& job, const TrainingSpeed& speed);

// The same of a job that has exactly these nodes.
[[nodiscard]] std::vector<std::string> idle_node_warnings(const JobModel& job, std::int32_t nodes,
                                                          std::int32_t used);

}  // namespace goodput
