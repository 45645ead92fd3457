// What a policy does otherwise than one may think, said before any run: nodes that a fixed batch leaves idle
// (models/job/step_batch.h), loads of experts that it does not follow.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/job/job_model.h"
#include "models/job/training_speed.h"

namespace goodput {

void append(std::vector<std::string> more, std::vector<std::string>& warnings);

// How many of so many nodes a job uses: 0 of too few.
using NodesUsed = std::function<std::int32_t(std::int32_t)>;

// At most one: of the most nodes with which some that the job could fill idle. `whole`: without regard to the
// batch; it and `usable` as in TrainingSpeed.
[[nodiscard]] std::vector<std::string> idle_node_warnings(const JobModel& job, const NodesUsed& whole,
                                                          const NodesUsed& usable);
[[nodiscard]] std::vector<std::string> idle_node_warnings(const JobModel& job, const TrainingSpeed& speed);

// The same of a job that has exactly these nodes.
[[nodiscard]] std::vector<std::string> idle_node_warnings(const JobModel& job, std::int32_t nodes,
                                                          std::int32_t used);

// Of a job that takes so many nodes at the least: there are never as many.
[[nodiscard]] std::vector<std::string> too_few_nodes_warnings(const JobModel& job, std::int32_t needed);

// Of a job with experts: they get what the scenario's routing says, or what the plan says, not both.
[[nodiscard]] std::vector<std::string> routing_warnings(const JobModel& job, bool follows_routing);

}  // namespace goodput
