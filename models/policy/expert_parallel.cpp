#include "models/policy/expert_parallel.h"

#include <fmt/format.h>

#include <utility>

#include "models/policy/restart_policy.h"

namespace goodput {
namespace {

std::vector<std::string> memory_warnings(const RestartJob& restarts, std::int32_t ep) {
  const JobModel& job = *restarts.job;
  const auto memory = job.steps().expert_parallel_memory(restarts.speed->usable(job.most_nodes()), ep);
  if (!memory || memory->fits()) return {};
  return {memory->verdict()};
}

}  // namespace

config::Fields config_fields(ExpertParallelOptions& options, const PolicyContext& context,
                             const RestartUse& use) {
  using config::Need;
  return joined({{"ep", Need::kOptional, config::integer(options.ep, 0),
                  "GPUs that share out the experts of a layer; 0: as the plan says"},
                 {"moe_speedup", Need::kOptional,
                  config::number(options.restart.step.moe_speedup, config::between(0.01, 100)),
                  "of experts and all-to-alls over the cost model's: faster kernels"}},
                config_fields(options.restart, context, use));
}

ExpertParallelOptions with_tutel_kernels(ExpertParallelOptions options) {
  options.restart.step.moe_speedup = 1.2;
  return options;
}

Result<ExpertParallelJob> expert_parallel_job(const JobModel& job, const ExpertParallelOptions& options) {
  if (!job.has_experts()) return Error{"the model has no experts to share out; name another policy"};
  const std::int32_t ep = options.ep > 0 ? options.ep : job.plan().parallel.ep;
  if (job.plan().model.moe->experts % ep != 0) {
    return Error{
        fmt::format("is {}, which does not divide the model's {} experts", ep, job.plan().model.moe->experts),
        {.pointer = "/ep"}};
  }
  auto speed = std::make_unique<ExpertParallelSpeed>(job, ep, options.restart.step);
  GOODPUT_TRY(RestartJob restarts, restart_job(job, options.restart, std::move(speed)));
  ExpertParallelJob groups;
  groups.warnings = memory_warnings(restarts, ep);
  while (restarts.speed->usable(groups.nodes_of_group) == 0) ++groups.nodes_of_group;
  groups.restarts = std::move(restarts);
  return groups;
}

Result<std::unique_ptr<PreparedPolicy>> prepare_expert_parallel(const ExpertParallelOptions& options,
                                                                const JobModel& job) {
  GOODPUT_TRY(ExpertParallelJob groups, expert_parallel_job(job, options));
  return restarting_policy(std::move(groups.restarts), std::move(groups.warnings),
                           [](const RestartJob&) { return RestartParts{}; });
}

}  // namespace goodput
