#include "models/policy/job_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/base/text.h"

namespace goodput {
namespace {

std::string why_idle(const JobModel& job) {
  const ParallelPlan& plan = job.plan().parallel;
  const std::string numbers =
      job.steps().batch().runs_any_number()
          ? ""
          : fmt::format(", as many as schedule {} can run,", in_quotes(plan.schedule));
  return fmt::format("in micro-batches of {}{} more replicas would not train the {} samples of a step sooner",
                     plan.micro_batch, numbers, plan.global_batch);
}

}  // namespace

void append(std::vector<std::string> more, std::vector<std::string>& warnings) {
  std::move(more.begin(), more.end(), std::back_inserter(warnings));
}

std::vector<std::string> idle_node_warnings(const JobModel& job, std::int32_t nodes, std::int32_t used) {
  if (used == nodes) return {};
  return {fmt::format("with {} nodes {} train and {} idle: {}", nodes, used, nodes - used, why_idle(job))};
}

std::vector<std::string> idle_node_warnings(const JobModel& job, const NodesUsed& whole,
                                            const NodesUsed& usable) {
  if (job.steps().batch().rule() == BatchRule::kPerReplica) return {};
  for (std::int32_t nodes = job.most_nodes_ever(); nodes > 0; --nodes) {
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

std::vector<std::string> too_few_nodes_warnings(const JobModel& job, std::int32_t needed) {
  const std::int32_t ever = job.most_nodes_ever();
  if (needed <= ever) return {};
  return {fmt::format("never trains: it needs {} nodes, and the failure models have {} at the most", needed,
                      ever)};
}

std::vector<std::string> routing_warnings(const JobModel& job, bool follows_routing) {
  if (!job.has_experts()) return {};
  if (follows_routing && job.plan().expert_load.skew != 0)
    return {"its experts get what the scenario's routing says, not the plan's expert_load"};
  if (!follows_routing && !job.routing().is_balanced())
    return {"its experts get what the plan's expert_load says, not the scenario's routing"};
  return {};
}

}  // namespace goodput
