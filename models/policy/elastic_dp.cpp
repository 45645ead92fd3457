// Data-parallel training that goes on without the replica that lost a node, as torchft and FT-HSDP
// (arXiv 2602.00277) do. So that no shard is lost with it, ZeRO shards within a replica group only.
#include <utility>

#include "models/job/misfit_warnings.h"
#include "models/policy/policy.h"
#include "models/policy/replica_groups.h"
#include "models/policy/restart_policy.h"

namespace goodput {
namespace {

struct ElasticDpOptions {
  RestartOptions restart{};
  std::int32_t nodes_per_replica = 0;
  RejoinSettings rejoin{};
};

config::Fields config_fields(ElasticDpOptions& options, const PolicyContext& context) {
  using config::Need;
  config::Fields fields =
      config_fields(options.restart, context, {.saves_to_grow = false, .dispatches = false});
  // Nodes that join never wait for a restart.
  std::erase_if(fields,
                [](const config::Field& field) { return field.key == "absorb" || field.key == "gather_s"; });
  return joined(fields,
                {{"nodes_per_replica", Need::kOptional, config::integer(options.nodes_per_replica, 0),
                  "number of nodes that leave and rejoin together; 0: the smallest number that holds whole "
                  "replicas of the plan"},
                 {"rejoin_s", Need::kOptional,
                  config::number(options.rejoin.rejoin, config::between(1e-3, 1e7), from_seconds(1)),
                  "time to start the processes of a returning replica, while the other replicas train"},
                 {"catch_up", Need::kOptional, config::choice(options.rejoin.catch_up, kCatchUpNames),
                  "how a returning replica gets its state: while the other replicas train, or while all "
                  "replicas are stopped"},
                 {"migration", Need::kOptional,
                  migration_value(options.rejoin.migration, {"plan_s"},
                                  "the surviving nodes determine which replicas continue"),
                  "how long it takes to continue without a restart"}});
}

Result<std::unique_ptr<PreparedPolicy>> prepare_elastic_dp(const ElasticDpOptions& options,
                                                           const JobModel& job) {
  GOODPUT_TRY(const ReplicaGroupSize group, replica_group(job, options.nodes_per_replica));
  auto owned = std::make_unique<ReplicaGroupSpeed>(job, group, options.restart.step);
  const ReplicaGroupSpeed& speed = *owned;
  GOODPUT_TRY(RestartJob restarts, restart_job(job, options.restart, std::move(owned)));
  const auto memory = job.steps().planned_memory(widest_plan(job, speed));
  restarts.fits = !memory || memory->fits();
  std::vector<std::string> warnings = sharding_warnings(job, speed);
  if (warnings.empty()) warnings = misfit_warnings(memory);  // else they say it
  return restarting_policy(
      std::move(restarts), std::move(warnings), [&speed, rejoin = options.rejoin](const RestartJob& of) {
        return RestartParts{.regrouping = std::make_unique<ReplicaGroups>(of, speed, rejoin)};
      });
}

Result<PlanLimits> elastic_dp_limits(const ElasticDpOptions& options, const TrainingPlan& base) {
  return limits_of_replica_groups(options.nodes_per_replica, base);
}

}  // namespace

PolicyInfo policy_elastic_dp() {
  return {"elastic_dp",
          "drops a data-parallel replica that lost a node and continues; the replica rejoins during training",
          [] { return policy_setup(ElasticDpOptions{}, prepare_elastic_dp, elastic_dp_limits); }};
}

}  // namespace goodput
