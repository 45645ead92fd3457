#include "models/policy/restart_options.h"

#include <fmt/format.h>

#include <utility>

#include "models/policy/idle_nodes.h"

namespace goodput {
namespace {

// Experts without pipeline stages see the job's routing; with stages the plan's own (models/job/job_step.h).
std::unique_ptr<TrainingSpeed> speed_of_plan(const JobModel& job, const StepSettings& step) {
  const ParallelPlan& plan = job.plan().parallel;
  if (job.has_experts() && plan.pp == 1) return std::make_unique<ExpertParallelSpeed>(job, plan.ep, step);
  return std::make_unique<DenseSpeed>(job, step);
}

}  // namespace

config::Fields config_fields(RestartOptions& options) {
  using config::Need;
  return {{"restart", Need::kOptional, config::object(options.timing), "what it takes to start again"},
          {"checkpoint", Need::kOptional, config::object(options.checkpoint),
           "how checkpoints are written and read"},
          {"slow_nodes", Need::kOptional, config::object(options.slow_nodes),
           "what is done about fail-slow nodes"},
          {"absorb", Need::kOptional, config::choice(options.absorb, kAbsorbNames),
           "nodes that join: are used after the next restart; gathered: the job restarts with them"},
          {"gather_s", Need::kOptional, config::number(options.gather, kPolicySeconds, from_seconds(1)),
           "gathered: from the first that joins to the restart"},
          {"step_overhead_s", Need::kOptional,
           config::number(options.step.step_overhead, kPolicySeconds, from_seconds(1)),
           "once a step, on top of what the op graph says"},
          config::tier(options.tier)};
}

Result<RestartJob> restart_job(const JobModel& job, const RestartOptions& options,
                               std::unique_ptr<TrainingSpeed> speed) {
  const std::int32_t most = speed->usable(job.most_nodes());
  // So that what cannot be timed is known before any run.
  const Result<StepTime> timed = speed->compute(most > 0 ? most : job.most_nodes(), 0, 1);
  if (most == 0) return job.error_of_nodes(timed ? "are too few for the job" : timed.error().what);
  GOODPUT_TRY(const StepTime step, timed);
  RestartJob restarts{&job, options, std::move(speed)};
  restarts.options.tier = lowest(options.tier, step.tier);
  restarts.warnings = idle_node_warnings(job, *restarts.speed);
  return restarts;
}

Result<RestartJob> restart_job(const JobModel& job, const RestartOptions& options) {
  return restart_job(job, options, speed_of_plan(job, options.step));
}

}  // namespace goodput
