#include "models/policy/idle_nodes.h"

#include <fmt/format.h>

namespace goodput {
namespace {

std::string why_idle(const JobModel& job) {
  const ParallelPlan& plan = job.plan().parallel;
  return fmt::format("in micro-batches of {} more replicas would not train the {} samples of a step sooner",
                     plan.micro_batch, plan.global_batch);
}

}  // namespace

std::vector<std::string> idle_node_warnings(const JobModel& job, std::int32_t nodes, std::int32_t used) {
  if (used == nodes) return {};
  return {fmt::format("of {} nodes {} train and {} idle: {}", nodes, used, nodes - used, why_idle(job))};
}

std::vector<std::string> idle_node_warnings(const JobModel& job, const NodesUsed& whole,
                                            const NodesUsed& usable) {
  if (job.steps().batch().rule() == BatchRule::kPerReplica) return {};
  for (std::int32_t nodes = job.most_nodes(); nodes > 0; --nodes) {
    const std::int32_t filled = whole(nodes);
    const std::int32_t used = usable(nodes);
    if (used == filled || used == 0) continue;
    return idle_node_warnings(job, nodes, used);
  }
  return {};
}

std::vector<std::string> idle_node_warnings(const JobModel& job, const TrainingSpeed& speed) {
  return idle_node_warnings(
      job, [&speed](std::int32_t nodes) { return speed.whole(nodes); },
      [&speed](std::int32_t nodes) { return speed.usable(nodes); });
}

}  // namespace goodput
