// Partial experts checkpoints (PEC, arXiv 2408.04307; MoC-System): as `ds`, but a checkpoint holds only some
// of the experts of every layer, in turn, and reaches storage in the background. It costs less time and, at
// every loss, what left-out experts have learned: the proportion of lost tokens
// (models/checkpoint/lost_tokens.h).
#include <fmt/format.h>

#include <memory>

#include "models/policy/expert_parallel.h"
#include "models/policy/partial_checkpoints.h"
#include "models/policy/restart_policy.h"

namespace goodput {
namespace {

struct PecOptions {
  ExpertParallelOptions groups{.restart = {.checkpoint = {.mode = SaveMode::kAsync}}};
  PartialSaveOptions saves{};
};

config::Fields config_fields(PecOptions& options, const PolicyContext& context) {
  using config::Need;
  const auto no_save = [&options] { return no_interval(options.groups.restart.checkpoint); };
  const auto no_choice = [&options, no_save, experts = context.experts] {
    const bool holds_all = experts > 0 && options.saves.k.persist == experts;
    return holds_all ? fmt::format("checkpoints hold all {} experts", experts) : no_save();
  };
  const auto not_dynamic = [&options, no_choice]() -> std::string {
    return options.saves.is_dynamic ? no_choice() : "dynamic_k is false";
  };
  return joined(
      config_fields(options.groups, context, {.snapshots_in_sync = true}),
      {{"k_snapshot", Need::kOptional, config::integer(options.saves.k.snapshot, 1, 4096),
        "number of experts per layer that a checkpoint copies to CPU memory", no_save},
       {"k_persist", Need::kOptional, config::integer(options.saves.k.persist, 1, 4096),
        "number of experts per layer that a checkpoint writes to storage, out of the k_snapshot "
        "experts copied to CPU memory",
        no_save},
       {"selection", Need::kOptional, config::choice(options.saves.selection, kExpertSelectionNames),
        "which experts a checkpoint saves: the next ones in a fixed order, or those with the most "
        "tokens since their last checkpoint",
        no_choice},
       {"sharding", Need::kOptional, config::choice(options.saves.sharding, kShardingNames),
        "which ranks write the state that all ranks hold (see `goodput checkpoint`)", no_save},
       {"dynamic_k", Need::kOptional, config::flag(options.saves.is_dynamic),
        "double k_snapshot and k_persist after a restart as long as one more fault would bring the "
        "lost tokens (PLT) of the whole job above plt_limit",
        no_choice},
       {"plt_limit", Need::kOptional, config::number(options.saves.plt_limit, config::between(0, 1)),
        "share of tokens that may be lost, if dynamic_k is true", not_dynamic}});
}

Status check_experts(const PecOptions& options, std::int32_t experts) {
  if (options.saves.k.snapshot > experts)
    return Error{fmt::format("is {}, but a layer has only {} experts", options.saves.k.snapshot, experts),
                 {.pointer = "/k_snapshot"}};
  if (options.saves.k.persist > options.saves.k.snapshot) {
    return Error{fmt::format("is {}, more than k_snapshot ({}); only experts in memory can go to storage",
                             options.saves.k.persist, options.saves.k.snapshot),
                 {.pointer = "/k_persist"}};
  }
  return Ok{};
}

Result<std::unique_ptr<PreparedPolicy>> prepare_pec(const PecOptions& options, const JobModel& job) {
  GOODPUT_TRY_STATUS(check_one_stage(job));
  GOODPUT_TRY(ExpertParallelJob groups, expert_parallel_job(job, options.groups));
  GOODPUT_TRY_STATUS(check_experts(options, job.modules().experts));
  auto saves = std::make_unique<PartialSaves>(job, options.groups.restart.checkpoint, options.saves);
  GOODPUT_TRY_STATUS(saves->check(groups.restarts.speed->usable(job.most_nodes())));
  return restarting_policy(std::move(groups.restarts), std::move(groups.warnings),
                           [saves = std::move(saves)](const RestartJob& of) {
                             return RestartParts{.store = std::make_unique<PartialCheckpoints>(of, *saves)};
                           });
}

Result<PlanLimits> pec_limits(const PecOptions& options, const TrainingPlan& base) {
  GOODPUT_TRY(PlanLimits limits, limits_of_groups(options.groups, base, GroupStages::kOne));
  GOODPUT_TRY_STATUS(check_experts(options, base.model.moe->experts));
  return limits;
}

}  // namespace

PolicyInfo policy_pec() {
  return {"pec",
          "like ds, with partial expert checkpoints (PEC) written in the background; reports lost tokens",
          [] { return policy_setup(PecOptions{}, prepare_pec, pec_limits); }};
}

}  // namespace goodput
