#include "models/policy/restart_options.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>

#include "models/job/misfit_warnings.h"
#include "models/policy/job_warnings.h"

namespace goodput {
namespace {

// Whether a job with the plan's own replicas dispatches tokens in groups of GPUs that hold whole experts.
bool has_groups(const TrainingPlan& base, const ParallelPlan& plan) {
  return base.model.moe && plan.pp == 1;
}

bool has_groups(const JobModel& job) {
  return has_groups(job.plan(), job.plan().parallel);
}

// On all nodes.
std::vector<std::string> memory_of_plan(const JobModel& job, const TrainingSpeed& speed) {
  const std::int32_t nodes = speed.usable(job.most_nodes());
  return misfit_warnings(has_groups(job) ? job.steps().expert_parallel_memory(nodes, {job.plan().parallel.ep})
                                         : job.steps().dense_memory(nodes));
}

// Experts without pipeline stages see the job's routing; with stages the plan's own (models/job/job_step.h).
std::unique_ptr<TrainingSpeed> speed_of_plan(const JobModel& job, const StepSettings& step) {
  if (has_groups(job)) return std::make_unique<ExpertParallelSpeed>(job, job.plan().parallel.ep, step);
  return std::make_unique<DenseSpeed>(job, step);
}

// Where groups do without the plan's stages, a plan that has some keeps its own ones.
std::function<std::string()> no_dispatch(const PolicyContext& context, const RestartUse& use) {
  if (use.groups_in_stages) return {};
  return [is_dense = context.is_dense, stages = context.stages]() -> std::string {
    if (is_dense) return "the model has no experts";
    return stages == 1 ? "" : "a plan with pipeline stages uses its expert_load";
  };
}

config::Field dispatch_field(StepSettings& step, const PolicyContext& context, const RestartUse& use) {
  return {"dispatch", config::Need::kOptional, config::choice(step.dispatch, kExpertDispatchNames),
          "how tokens are dispatched to experts. padded: all buffers have room for the busiest expert's "
          "tokens; dropless: each expert gets exactly the tokens routed to it",
          no_dispatch(context, use)};
}

}  // namespace

config::Value checkpoint_value(CheckpointSettings& settings, const CheckpointUse& use) {
  return config::object({[] { return true; }, [&settings, use] { return config_fields(settings, use); },
                         []() -> Status { return Ok{}; }});
}

config::Field slow_nodes_field(SlowNodeRule& rule, const PolicyContext& context) {
  return {
      "slow_nodes", config::Need::kOptional, config::object(rule), "how to handle fail-slow nodes",
      [has_slow = context.has_slow_nodes] { return has_slow ? "" : "no failure model makes nodes slow"; }};
}

config::Fields config_fields(RestartOptions& options, const PolicyContext& context, const RestartUse& use) {
  using config::Need;
  const auto never_grows = [why = use.never_grows] { return why ? why() : std::string(); };
  const auto saves_besides = [&options, use, never_grows] {
    const bool grows = options.absorb == Absorb::kGathered && never_grows().empty();
    return (use.saves_to_grow && grows) ||
           (use.saves_to_swap && options.slow_nodes.action == SlowNodeAction::kSwap);
  };
  config::Fields fields = {
      {"restart", Need::kOptional, config::object(options.timing), "how long a restart takes"},
      {"checkpoint", Need::kOptional,
       checkpoint_value(options.checkpoint, {saves_besides, use.snapshots_in_sync}),
       "how checkpoints are written and read"},
      slow_nodes_field(options.slow_nodes, context),
      {"absorb", Need::kOptional, config::choice(options.absorb, kAbsorbNames),
       "when joining nodes are used. at_restart: after the next restart; gathered: the job restarts to use "
       "the joining nodes",
       use.never_grows},
      {"gather_s", Need::kOptional, config::number(options.gather, kPolicySeconds, from_seconds(1)),
       "time from when the first node joins until the restart, if absorb is \"gathered\"",
       [&options, never_grows]() -> std::string {
         if (std::string why = never_grows(); !why.empty()) return why;
         return options.absorb == Absorb::kAtRestart ? "absorb is \"at_restart\"" : "";
       }},
      {"step_overhead_s", Need::kOptional,
       config::number(options.step.step_overhead, kPolicySeconds, from_seconds(1)),
       "extra time per step, added to the computed step time"},
      config::tier(options.tier)};
  if (use.dispatches) fields.push_back(dispatch_field(options.step, context, use));
  return fields;
}

Result<RestartJob> restart_job(const JobModel& job, const RestartOptions& options,
                               std::unique_ptr<TrainingSpeed> speed) {
  if (const Status known = check_interval(options.checkpoint, job); !known)
    return known.error().inside("/checkpoint");
  const std::int32_t most = speed->usable(job.most_nodes());
  // So that what cannot be timed is known before any run.
  const Result<StepTime> timed = speed->compute(most > 0 ? most : job.most_nodes(), 0, 1);
  if (most == 0) return job.error_of_nodes(timed ? "are too few for the job to run" : timed.error().what);
  GOODPUT_TRY(const StepTime step, timed);
  RestartJob restarts{&job, options, std::move(speed)};
  restarts.options.tier = lowest(options.tier, step.tier);
  restarts.step = step.step;
  restarts.warnings = routing_warnings(job, restarts.speed->follows_routing());
  append(too_few_nodes_warnings(job, restarts.speed->least()), restarts.warnings);
  restarts.idle_nodes = idle_node_warnings(job, *restarts.speed);
  return restarts;
}

Result<RestartJob> restart_job(const JobModel& job, const RestartOptions& options) {
  GOODPUT_TRY(RestartJob restarts, restart_job(job, options, speed_of_plan(job, options.step)));
  std::vector<std::string> misfits = memory_of_plan(job, *restarts.speed);
  restarts.fits = misfits.empty();
  append(std::move(misfits), restarts.warnings);
  return restarts;
}

PlanLimits restart_limits(const TrainingPlan& base) {
  if (!base.model.moe) return {};
  return {.check = [&base](const ParallelPlan& plan) -> Status {
            return has_groups(base, plan) ? check_groups(plan, {plan.ep}, base) : Ok{};
          },
          .placed =
              [&base](const ParallelPlan& plan) {
                return has_groups(base, plan) ? placed_in_groups(plan, {plan.ep}, base) : PlacedPlan{plan};
              }};
}

}  // namespace goodput
