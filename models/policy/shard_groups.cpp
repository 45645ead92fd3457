#include "models/policy/shard_groups.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/policy/restart_policy.h"

namespace goodput {
namespace {

struct Shards {
  std::int32_t nodes_of_group = 1;  // a group has all experts; node number k of it holds shard k
  Bytes bytes{};                    // of one, with its optimizer states
};

class ShardGroups final : public Regrouping {
 public:
  // Keeps references.
  ShardGroups(const RestartJob& job, const MigrationTiming& migration, const Shards& shards)
      : job_(&job), migration_(&migration), shards_(shards), choice_(job.options.slow_nodes) {}

  // Every node knows its place: groups are consecutive nodes.
  void place(std::span<const NodeId> used) override {
    shard_of_.resize(used.size());
    for (std::size_t i = 0; i < shard_of_.size(); ++i)
      shard_of_[i] = static_cast<std::int32_t>(i) % shards_.nodes_of_group;
  }

  [[nodiscard]] std::optional<Regrouped> go_on(const Remains& remains) override {
    HoldersOfShards holders = holders_of_shards(remains);
    const bool lost_shard =
        std::any_of(holders.begin(), holders.end(), [](const auto& nodes) { return nodes.empty(); });
    if (lost_shard) return std::nullopt;
    Regrouped regrouped;
    regrouped.grows = remains.left.size() == remains.used.size();
    const std::vector<NodeId> idle = idle_nodes(remains);
    const auto nodes = static_cast<std::int32_t>(remains.left.size() + idle.size());
    const std::int32_t usable = job_->speed->usable(nodes);
    // The same nodes again: to leave slow ones out takes a restart.
    if (usable == 0 || (regrouped.grows && usable <= std::ssize(remains.used))) return std::nullopt;
    const auto groups = static_cast<std::size_t>(usable / shards_.nodes_of_group);
    if (remains.has_lost) regrouped.phases.add(TimeBucket::kInfrastructureRecovery, migration_->detect);
    regrouped.phases.add(regrouped.grows ? TimeBucket::kElasticScaleUp : TimeBucket::kElasticSliceDown,
                         migration_->regroup);
    regrouped.phases.add(TimeBucket::kElasticReinitialization, fill_groups(holders, idle, groups));
    regrouped.nodes = assign(holders);
    return regrouped;
  }

 private:
  using HoldersOfShards = std::vector<std::vector<NodeId>>;

  // That may take shards of others: none, unless nodes are gathered.
  [[nodiscard]] std::vector<NodeId> idle_nodes(const Remains& remains) const {
    std::vector<NodeId> idle;
    if (job_->options.absorb != Absorb::kGathered) return idle;
    const Membership& members = *remains.job.members;
    for (const NodeId node : members.nodes()) {
      if (choice_.may_use(members, node) &&
          !std::binary_search(remains.left.begin(), remains.left.end(), node))
        idle.push_back(node);
    }
    return idle;
  }

  [[nodiscard]] HoldersOfShards holders_of_shards(const Remains& remains) const {
    HoldersOfShards holders(static_cast<std::size_t>(shards_.nodes_of_group));
    for (std::size_t i = 0; i < remains.used.size(); ++i) {
      if (std::binary_search(remains.left.begin(), remains.left.end(), remains.used[i]))
        holders[static_cast<std::size_t>(shard_of_[i])].push_back(remains.used[i]);
    }
    return holders;
  }

  // Nodes beyond the number of groups, then `spare` ones, take shards that too few nodes hold. How long it
  // takes to send these: every holder of a shard sends to as many nodes as the others.
  [[nodiscard]] SimDuration fill_groups(HoldersOfShards& holders, std::vector<NodeId> spare,
                                        std::size_t groups) const {
    for (std::vector<NodeId>& nodes : holders) {
      for (; nodes.size() > groups; nodes.pop_back()) spare.push_back(nodes.back());
    }
    std::size_t most_sent = 0;
    for (std::vector<NodeId>& nodes : holders) {
      const std::size_t senders = nodes.size();
      most_sent = std::max(most_sent, (groups - senders + senders - 1) / senders);
      for (; nodes.size() < groups; spare.pop_back()) nodes.push_back(spare.back());
    }
    if (most_sent == 0) return {};
    return migration_->transfer_setup +
           shards_.bytes * static_cast<std::int64_t>(most_sent) / migration_->node;
  }

  // All holders, ascending.
  [[nodiscard]] std::vector<NodeId> assign(const HoldersOfShards& holders) {
    std::vector<std::pair<NodeId, std::int32_t>> places;
    for (std::size_t shard = 0; shard < holders.size(); ++shard) {
      for (const NodeId node : holders[shard]) places.emplace_back(node, static_cast<std::int32_t>(shard));
    }
    std::sort(places.begin(), places.end());
    std::vector<NodeId> nodes;
    shard_of_.clear();
    for (const auto& [node, shard] : places) {
      nodes.push_back(node);
      shard_of_.push_back(shard);
    }
    return nodes;
  }

  const RestartJob* job_;
  const MigrationTiming* migration_;
  Shards shards_;
  NodeChoice choice_;
  std::vector<std::int32_t> shard_of_;  // by position among the nodes in use
};

}  // namespace

config::Fields config_fields(ShardGroupsOptions& options, const PolicyContext& context) {
  return joined(config_fields(options.groups, context, {.saves_to_grow = false}),
                {{"migration", config::Need::kOptional,
                  migration_value(options.migration, {"plan_s"}, "the surviving nodes determine the groups"),
                  "how long it takes to continue without a restart"}});
}

Result<std::unique_ptr<PreparedPolicy>> prepare_shard_groups(const ShardGroupsOptions& options,
                                                             const JobModel& job) {
  GOODPUT_TRY_STATUS(check_one_stage(job));
  GOODPUT_TRY_STATUS(in_file_of(job.plan(), check_unsharded(job.plan().parallel)));
  GOODPUT_TRY(ExpertParallelJob groups, expert_parallel_job(job, options.groups));
  const ModuleBytes bytes = checkpoint_modules(job, options.groups.restart.checkpoint);
  const Shards shards{groups.nodes_of_group,
                      Bytes{bytes.one_expert().value * bytes.experts / groups.nodes_of_group}};
  return restarting_policy(
      std::move(groups.restarts), std::move(groups.warnings),
      [migration = options.migration, shards](const RestartJob& of) {
        return RestartParts{.regrouping = std::make_unique<ShardGroups>(of, migration, shards)};
      });
}

Result<PlanLimits> shard_group_limits(const ShardGroupsOptions& options, const TrainingPlan& base) {
  GOODPUT_TRY(PlanLimits limits, limits_of_groups(options.groups, base, GroupStages::kOne));
  limits.check = [groups = std::move(limits.check)](const ParallelPlan& plan) -> Status {
    GOODPUT_TRY_STATUS(groups(plan));
    return check_unsharded(plan);
  };
  return limits;
}

}  // namespace goodput
