// What a lab starts a job with today (Megatron-Core, NVIDIA Resiliency Extension, DeepSeek's EPLB): dropless
// dispatch, busy experts replicated, checkpoints written beside the training and held in the memory of other
// nodes, spares whose processes are up, and restarts that keep the processes of those that are left. Each
// part is an option; without any of them it is `ds`.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/policy/expert_balance.h"
#include "models/policy/expert_parallel.h"
#include "models/policy/fixed_nodes.h"
#include "models/policy/job_warnings.h"
#include "models/policy/memory_checkpoints.h"
#include "models/policy/policy.h"
#include "models/policy/restart_policy.h"

namespace goodput {
namespace {

// Who holds which experts of a group.
enum class ExpertOrder : std::uint8_t {
  kNone,  // as they are numbered
  kEplb,  // busy ones have replicas, and every GPU gets about as much
};
constexpr std::string_view kExpertOrderNames[] = {"none", "eplb"};

struct MegatronOptions {
  ExpertParallelOptions groups{
      .restart = {.checkpoint = {.mode = SaveMode::kAsync}, .step = {.dispatch = ExpertDispatch::kDropless}}};
  ExpertOrder balance = ExpertOrder::kEplb;
  BalanceRules rules{};
  std::int32_t nodes = 0;
  MemorySettings memory{};
  Spares spares = Spares::kHot;
  bool restarts_in_place = true;
  SimDuration swap = kDefaultSwap;
};

using Why = std::function<std::string()>;

std::string no_experts(const PolicyContext& context) {
  return context.is_dense ? "the model has no experts" : "";
}

// Of expert-parallel groups; a dense job has none.
config::Fields group_fields(MegatronOptions& options, const PolicyContext& context) {
  const RestartUse use{.never_grows = [&options] {
    return options.nodes > 0 ? "`nodes` fixes the number of training nodes" : "";
  }};
  config::Fields fields = config_fields(options.groups, context, use);
  for (config::Field& field : fields) {
    if (field.key == "ep" || field.key == "moe_speedup" || field.key == "dispatch")
      field.idle = [context] { return no_experts(context); };
  }
  return fields;
}

// Not written if it is 1, so that results of runs without groups keep their hash.
config::Value unless_one(std::int32_t& groups) {
  config::Value value = config::integer(groups, 1, 1 << 20);
  value.write = [&groups, write = std::move(value.write)](OrderedJson& into) {
    if (groups != 1) write(into);
  };
  return value;
}

config::Fields balance_fields(MegatronOptions& options, const PolicyContext& context) {
  using config::Need;
  const Why unbalanced = [&options, context]() -> std::string {
    if (std::string why = no_experts(context); !why.empty()) return why;
    return options.balance == ExpertOrder::kNone ? "balance is \"none\"" : "";
  };
  const Why same_loads = [unbalanced, changes = context.changes_loads]() -> std::string {
    if (std::string why = unbalanced(); !why.empty()) return why;
    return changes ? "" : "expert loads never change";
  };
  const Why never_moves = [&options, same_loads]() -> std::string {
    if (std::string why = same_loads(); !why.empty()) return why;
    return options.rules.every_steps == 0 ? "rebalance_steps is 0" : "";
  };
  return {
      {"balance", Need::kOptional, config::choice(options.balance, kExpertOrderNames),
       "how experts are balanced over the GPUs of a group. none: placed in numerical order; eplb: by "
       "DeepSeek's EPLB",
       [context] { return no_experts(context); }},
      {"redundant_slots", Need::kOptional, config::integer(options.rules.redundant, 0, 1024),
       "number of extra expert slots per GPU and layer, for replicas of busy experts", unbalanced},
      {"expert_groups", Need::kOptional, unless_one(options.rules.expert_groups),
       "number of groups of consecutive experts (EPLB's num_groups), for routing that is limited to a few "
       "groups; each group stays on one node if the number of groups is a multiple of the nodes of ep; "
       "default 1",
       unbalanced},
      {"rebalance_steps", Need::kOptional, config::integer(options.rules.every_steps, 0, 1'000'000),
       "number of steps after which experts are placed again to follow their loads; 0: never", same_loads},
      {"migration", Need::kOptional,
       migration_value(options.rules.timing, {"detect_s", "regroup_s"},
                       "no node is lost and no group changes when experts move"),
       "time to move experts", never_moves}};
}

config::Fields spare_fields(MegatronOptions& options) {
  using config::Need;
  const Why starts_anew = [&options] { return options.restarts_in_place ? "" : "restart_in_place is false"; };
  return {{"restart_in_place", Need::kOptional, config::flag(options.restarts_in_place),
           "whether processes of surviving nodes stay up during a restart"},
          {"spares", Need::kOptional, config::choice(options.spares, kSparesNames),
           "hot: processes also run on spare nodes; cold: a restart that needs spares restarts all processes",
           starts_anew},
          swap_field(options.swap, starts_anew)};
}

config::Fields config_fields(MegatronOptions& options, const PolicyContext& context) {
  using config::Need;
  const auto evicts = [&options] {
    return options.groups.restart.slow_nodes.action == SlowNodeAction::kEvict;
  };
  config::Fields fields = joined(
      {{"nodes", Need::kOptional, config::integer(options.nodes, 0),
        "number of training nodes; the job waits if fewer nodes are available; 0: as many as are available"}},
      group_fields(options, context));
  fields = joined(std::move(fields), balance_fields(options, context));
  fields = joined(std::move(fields), memory_fields(options.memory, MemoryUse::kIfReplicated, evicts));
  return joined(std::move(fields), spare_fields(options));
}

// What is kept for all runs.
struct MegatronJob {
  RestartJob restarts{};
  std::unique_ptr<ExpertBalance> balance{};  // none: experts stay
  std::vector<std::string> warnings{};
};

Result<MegatronJob> with_balance(const MegatronOptions& options, const JobModel& job, std::int32_t ep) {
  BalanceRules rules = options.rules;
  rules.gpus = ep;
  rules.expert = checkpoint_modules(job, options.groups.restart.checkpoint).expert_each.front();
  MegatronJob made;
  made.balance = std::make_unique<ExpertBalance>(job, rules);
  if (const Status divided = made.balance->check_groups(); !divided)
    return divided.error().inside("/expert_groups");
  if (const Status placed = made.balance->check(); !placed) return placed.error().inside("/redundant_slots");
  auto speed =
      std::make_unique<ExpertParallelSpeed>(job, ep, options.groups.restart.step, made.balance.get());
  GOODPUT_TRY(ExpertParallelJob groups,
              expert_parallel_job(job, options.groups, {ep, rules.redundant, {}}, std::move(speed)));
  made.restarts = std::move(groups.restarts);
  made.warnings = std::move(groups.warnings);
  append(made.balance->warnings(), made.warnings);
  return made;
}

Result<MegatronJob> megatron_job(const MegatronOptions& options, const JobModel& job) {
  MegatronJob made;
  if (!job.has_experts()) {
    GOODPUT_TRY(made.restarts, restart_job(job, options.groups.restart));
    return made;
  }
  GOODPUT_TRY(const std::int32_t ep, group_size(job, options.groups));
  // A GPU that has all experts has nothing to balance.
  if (options.balance == ExpertOrder::kEplb && ep > 1) return with_balance(options, job, ep);
  GOODPUT_TRY(ExpertParallelJob groups, expert_parallel_job(job, options.groups));
  made.restarts = std::move(groups.restarts);
  made.warnings = std::move(groups.warnings);
  if (options.balance == ExpertOrder::kEplb && options.rules.expert_groups > 1)
    made.warnings.emplace_back("expert_groups has no effect: with ep 1, every GPU holds all experts");
  return made;
}

RestartParts parts_of(const MegatronOptions& options, const RestartJob& job) {
  RestartParts parts;
  if (options.restarts_in_place) parts.in_place = InPlaceRestart{options.swap, options.spares};
  if (options.memory.replicas > 0) parts.store = std::make_unique<MemoryCheckpoints>(job, options.memory);
  return parts;
}

Result<std::unique_ptr<PreparedPolicy>> prepare_megatron(const MegatronOptions& options,
                                                         const JobModel& job) {
  GOODPUT_TRY(MegatronJob made, megatron_job(options, job));
  std::optional<std::int32_t> fixed;
  if (options.nodes > 0) {
    GOODPUT_TRY(fixed, fixed_nodes(options.nodes, made.restarts));
  }
  if (options.memory.replicas > 0)
    append(memory_warnings(options.memory, options.groups.restart.checkpoint), made.warnings);
  return restarting_policy(std::move(made.restarts), std::move(made.warnings),
                           [fixed, options, balance = std::move(made.balance)](const RestartJob& of) {
                             RestartParts parts = parts_of(options, of);
                             parts.fixed_nodes = fixed;
                             parts.balance = balance.get();
                             return parts;
                           });
}

Result<PlanLimits> megatron_limits(const MegatronOptions& options, const TrainingPlan& base) {
  if (!base.model.moe) return restart_limits(base);
  const bool is_balanced = options.balance == ExpertOrder::kEplb;
  return limits_of_groups(options.groups, base, GroupStages::kAny, is_balanced ? options.rules.redundant : 0);
}

}  // namespace

PolicyInfo policy_megatron() {
  return {"megatron",
          "like today's Megatron-LM jobs: dropless balanced experts, checkpoints in memory and storage, hot "
          "spares",
          [] { return policy_setup(MegatronOptions{}, prepare_megatron, megatron_limits); }};
}

}  // namespace goodput
