// DeepSpeed-MoE and Tutel made fault-tolerant, as Lazarus (arXiv 2407.04656, section 6) compares itself with:
// after a loss the nodes in use that are left form new expert-parallel groups, as long as every shard of the
// experts survives in some group. Nodes without a place in a group, and nodes that join, wait for the next
// restart; with "absorb": "gathered" they get shards from others, after a loss or gather_s after they joined.
#pragma once

#include <memory>

#include "models/migration/expert_migration.h"
#include "models/policy/expert_parallel.h"

namespace goodput {

struct ShardGroupsOptions {
  ExpertParallelOptions groups{.restart = {.checkpoint = {.interval_steps = 250}}};
  MigrationTiming migration{};
};
[[nodiscard]] config::Fields config_fields(ShardGroupsOptions& options, const PolicyContext& context);

[[nodiscard]] Result<std::unique_ptr<PreparedPolicy>> prepare_shard_groups(const ShardGroupsOptions& options,
                                                                           const JobModel& job);
[[nodiscard]] Result<PlanLimits> shard_group_limits(const ShardGroupsOptions& options,
                                                    const TrainingPlan& base);

}  // namespace goodput
