#include "models/policy/expert_parallel.h"

#include <fmt/format.h>

#include <utility>

#include "models/job/misfit_warnings.h"
#include "models/policy/restart_policy.h"

namespace goodput {
namespace {

std::int32_t ep_of(const ExpertParallelOptions& options, const ParallelPlan& plan) {
  return options.ep > 0 ? options.ep : plan.ep;
}

Result<std::int32_t> group_size(const TrainingPlan& plan, const ExpertParallelOptions& options) {
  if (!plan.model.moe) return Error{"the model has no experts; choose another policy"};
  const std::int32_t ep = ep_of(options, plan.parallel);
  const std::int32_t experts = plan.model.moe->experts;
  if (experts % ep == 0) return ep;
  return Error{fmt::format("is {}, which does not divide the model's {} experts", ep, experts),
               {.pointer = "/ep"}};
}

}  // namespace

config::Fields config_fields(ExpertParallelOptions& options, const PolicyContext& context, RestartUse use) {
  using config::Need;
  use.groups_in_stages = true;
  return joined(
      {{"ep", Need::kOptional, config::integer(options.ep, 0),
        "number of GPUs that share the experts of a layer; 0: as in the plan"},
       {"moe_speedup", Need::kOptional,
        config::number(options.restart.step.moe_speedup, config::between(0.01, 100)),
        "speedup of expert computation and all-to-alls relative to the cost model, for faster kernels"}},
      config_fields(options.restart, context, use));
}

Result<std::int32_t> group_size(const JobModel& job, const ExpertParallelOptions& options) {
  return group_size(job.plan(), options);
}

Status check_one_stage(const ParallelPlan& plan) {
  if (plan.pp == 1) return Ok{};
  return Error{fmt::format("must be 1, not {}, because every node holds part of every layer", plan.pp),
               {.pointer = "/parallel/pp"}};
}

Status check_one_stage(const JobModel& job) {
  return in_file_of(job.plan(), check_one_stage(job.plan().parallel));
}

Result<PlanLimits> limits_of_groups(const ExpertParallelOptions& options, const TrainingPlan& base,
                                    GroupStages stages, std::int32_t redundant) {
  GOODPUT_TRY(const std::int32_t unused, group_size(base, options));
  static_cast<void>(unused);
  return PlanLimits{.etp = 1,
                    .check = [&options, &base, stages](const ParallelPlan& plan) -> Status {
                      if (stages == GroupStages::kOne) GOODPUT_TRY_STATUS(check_one_stage(plan));
                      return check_groups(plan, {ep_of(options, plan)}, base);
                    },
                    .placed =
                        [&options, &base, redundant](const ParallelPlan& plan) {
                          const std::int32_t ep = ep_of(options, plan);
                          return placed_in_groups(plan, {ep, ep > 1 ? redundant : 0}, base);
                        }};
}

Result<PlanLimits> expert_parallel_limits(const ExpertParallelOptions& options, const TrainingPlan& base) {
  return limits_of_groups(options, base, GroupStages::kAny);
}

Result<ExpertParallelJob> expert_parallel_job(const JobModel& job, const ExpertParallelOptions& options,
                                              const ExpertParallelGroup& group,
                                              std::unique_ptr<TrainingSpeed> speed) {
  GOODPUT_TRY(RestartJob restarts, restart_job(job, options.restart, std::move(speed)));
  ExpertParallelJob groups;
  groups.warnings =
      misfit_warnings(job.steps().expert_parallel_memory(restarts.speed->usable(job.most_nodes()), group));
  restarts.fits = groups.warnings.empty();
  groups.nodes_of_group = restarts.speed->least();
  groups.restarts = std::move(restarts);
  return groups;
}

Result<ExpertParallelJob> expert_parallel_job(const JobModel& job, const ExpertParallelOptions& options) {
  GOODPUT_TRY(const std::int32_t ep, group_size(job, options));
  auto speed = std::make_unique<ExpertParallelSpeed>(job, ep, options.restart.step);
  return expert_parallel_job(job, options, {ep}, std::move(speed));
}

Result<std::unique_ptr<PreparedPolicy>> prepare_expert_parallel(const ExpertParallelOptions& options,
                                                                const JobModel& job) {
  GOODPUT_TRY(ExpertParallelJob groups, expert_parallel_job(job, options));
  return restarting_policy(std::move(groups.restarts), std::move(groups.warnings),
                           [](const RestartJob&) { return RestartParts{}; });
}

}  // namespace goodput
