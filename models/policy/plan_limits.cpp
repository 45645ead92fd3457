#include "models/policy/plan_limits.h"

#include <fmt/format.h>

#include <numeric>

namespace goodput {

std::int64_t nodes_of(const ParallelPlan& plan, const TrainingPlan& base) {
  const std::int64_t per_node = base.cluster.gpus_per_node;
  return (plan.gpus() + per_node - 1) / per_node;
}

std::int64_t nodes_filled_by(std::int64_t gpus, const TrainingPlan& base) {
  const std::int64_t per_node = base.cluster.gpus_per_node;
  return std::lcm(gpus, per_node) / per_node;
}

PlacedPlan placed_in_groups(const ParallelPlan& plan, const WholeExpertGroups& groups,
                            const TrainingPlan& base) {
  PlacedPlan placed{plan, {.per_gpu = base.model.moe->experts / groups.ep + groups.redundant}};
  const std::int64_t peers = std::int64_t{plan.cp} * plan.tp;
  placed.parallel.ep = groups.ep;
  placed.parallel.zero_instances =
      instances_for(plan, plan.dp, std::lcm(std::int64_t{groups.ep}, peers) / peers);
  return placed;
}

Status in_file_of(const TrainingPlan& plan, const Status& status) {
  return status ? status : Status(plan.error(status.error().where.pointer, status.error().what));
}

Status check_unsharded(const ParallelPlan& plan) {
  if (plan.zero == 0) return Ok{};
  return Error{
      fmt::format(
          "must be 0, not {}, because a lost node would take its shard of the optimizer state with it",
          plan.zero),
      {.pointer = "/parallel/zero"}};
}

Status check_groups(const ParallelPlan& plan, const WholeExpertGroups& groups, const TrainingPlan& base) {
  const std::int64_t peers = std::int64_t{plan.cp} * plan.tp;
  const std::int64_t of_stage = std::lcm(std::int64_t{groups.ep}, peers);
  const std::int64_t nodes = nodes_of(plan, base);
  if (nodes_filled_by(plan.pp * of_stage, base) > nodes) {
    return Error{fmt::format("{} nodes of {} GPUs cannot hold one expert-parallel group of {} GPUs", nodes,
                             base.cluster.gpus_per_node, groups.ep)};
  }
  ParallelPlan smallest = plan;  // the nodes hold a multiple of it
  smallest.ep = groups.ep;
  smallest.dp = static_cast<std::int32_t>(of_stage / peers);
  return check_whole_experts(smallest);
}

}  // namespace goodput
