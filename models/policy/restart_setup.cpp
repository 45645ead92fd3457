#include "models/policy/restart_setup.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace goodput {

config::Fields RestartSetup::fields() {
  using config::Need;
  return {{"restart", Need::kOptional, config::object(settings_.timing), "what it takes to start again"},
          {"checkpoint", Need::kOptional, config::object(settings_.checkpoint),
           "how checkpoints are written and read"},
          {"slow_nodes", Need::kOptional, config::object(settings_.slow_nodes),
           "what is done about fail-slow nodes"},
          {"absorb", Need::kOptional, config::choice(settings_.absorb, kAbsorbNames),
           "nodes that join: are used after the next restart; gathered: the job restarts with them"},
          {"gather_s", Need::kOptional, config::number(settings_.gather, kPolicySeconds, from_seconds(1)),
           "gathered: from the first that joins to the restart"},
          {"step_overhead_s", Need::kOptional, config::number(step_.step_overhead_s, kPolicySeconds),
           "once a step, on top of what the op graph says"},
          config::tier(tier_)};
}

// Experts without pipeline stages see the job's routing; with stages the plan's own (models/job/job_step.h).
std::unique_ptr<TrainingSpeed> RestartSetup::make_speed(const JobModel& job) const {
  const ParallelPlan& plan = job.plan().parallel;
  if (job.has_experts() && plan.pp == 1) return std::make_unique<ExpertParallelSpeed>(job, plan.ep, step_);
  return std::make_unique<DenseSpeed>(job, step_);
}

Status RestartSetup::prepare(const JobModel& job) {
  job_ = &job;
  speed_ = make_speed(job);
  const std::int32_t most = speed_->usable(job.most_nodes());
  if (most == 0)
    return Error{fmt::format("the job does not fit the {} nodes of its cluster", job.most_nodes())};
  // So that what cannot be timed is known before any run.
  GOODPUT_TRY(const StepTime step, speed_->compute(most, 0, 1));
  tier_ = lowest(tier_, step.tier);
  return Ok{};
}

std::unique_ptr<RecoveryPolicy> RestartSetup::make() {
  return std::make_unique<RestartPolicy>(*job_, settings_, *speed_);
}

config::Fields ExpertParallelSetup::fields() {
  using config::Need;
  config::Fields fields = RestartSetup::fields();
  fields.insert(fields.begin(), {{"ep", Need::kOptional, config::integer(ep_, 0),
                                  "GPUs that share out the experts of a layer; 0: as the plan says"},
                                 {"moe_speedup", Need::kOptional,
                                  config::number(step_settings().moe_speedup, config::between(0.01, 100)),
                                  "of experts and all-to-alls over the cost model's: faster kernels"}});
  return fields;
}

Status ExpertParallelSetup::prepare(const JobModel& job) {
  if (!job.has_experts()) return Error{"the model has no experts to share out; name another policy"};
  ep_used_ = ep_ > 0 ? ep_ : job.plan().parallel.ep;
  if (job.plan().model.moe->experts % ep_used_ != 0) {
    return Error{fmt::format("is {}, which does not divide the model's {} experts", ep_used_,
                             job.plan().model.moe->experts),
                 {.pointer = "/ep"}};
  }
  return RestartSetup::prepare(job);
}

std::unique_ptr<TrainingSpeed> ExpertParallelSetup::make_speed(const JobModel& job) const {
  return std::make_unique<ExpertParallelSpeed>(job, ep_used_, step_settings());
}

std::int32_t ExpertParallelSetup::nodes_of_group() const {
  std::int32_t nodes = 1;
  while (speed().usable(nodes) == 0) ++nodes;
  return nodes;
}

std::vector<std::string> ExpertParallelSetup::warnings() const {
  const auto memory = job().steps().expert_parallel_memory(speed().usable(job().most_nodes()), ep_used_);
  if (!memory || memory->fits()) return {};
  return {memory->verdict()};
}

}  // namespace goodput
