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
      job.steps().batch().runs_any_number() ? "" : fmt::format(" and schedule {}", in_quotes(plan.schedule));
  return fmt::format("with micro_batch {}{}, more replicas would not shorten a step of {} samples",
                     plan.micro_batch, numbers, plan.global_batch);
}

}  // namespace

void append(std::vector<std::string> more, std::vector<std::string>& warnings) {
  std::move(more.begin(), more.end(), std::back_inserter(warnings));
}

std::vector<std::string> idle_node_warnings(const JobModel& job, std::int32_t nodes, std::int32_t used) {
  if (used == nodes) return {};
  return {fmt::format("of {} nodes, {} train and {} are idle: {}", nodes, used, nodes - used, why_idle(job))};
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
  return {fmt::format(
      "never trains, because the policy needs {} nodes, but the failure models provide at most {}", needed,
      ever)};
}

std::vector<std::string> routing_warnings(const JobModel& job, bool follows_routing) {
  if (!job.has_experts()) return {};
  if (follows_routing && job.plan().expert_load.skew != 0)
    return {"uses the scenario's routing for expert loads, not the plan's expert_load"};
  if (!follows_routing && !job.routing().is_balanced())
    return {"uses the plan's expert_load for expert loads, not the scenario's routing"};
  return {};
}

}  // namespace goodput
