// DeepSpeed-MoE and its like: the experts of a layer are shared out over groups of GPUs, and the job uses
// whole groups.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/job/expert_parallel_group.h"
#include "models/policy/policy.h"
#include "models/policy/restart_options.h"

namespace goodput {

struct ExpertParallelOptions {
  std::int32_t ep = 0;       // GPUs of a group; 0: the plan's
  RestartOptions restart{};  // step.moe_speedup among them
};
[[nodiscard]] config::Fields config_fields(ExpertParallelOptions& options, const PolicyContext& context,
                                           RestartUse use = {});

// Of Tutel, whose MoE kernels are faster than those that are priced: by how much, nobody has measured
// (docs/validation.md).
inline constexpr UncertainOption kTutelSpeedup{"moe_speedup", 1, 1, 1.5};

struct ExpertParallelJob {
  RestartJob restarts{};
  std::vector<std::string> warnings{};  // of memory
  std::int32_t nodes_of_group = 1;      // over which whole sets of all experts are spread
};
[[nodiscard]] Result<ExpertParallelJob> expert_parallel_job(const JobModel& job,
                                                            const ExpertParallelOptions& options);
// With experts that move. `speed`: of such groups.
[[nodiscard]] Result<ExpertParallelJob> expert_parallel_job(const JobModel& job,
                                                            const ExpertParallelOptions& options,
                                                            const ExpertParallelGroup& group,
                                                            std::unique_ptr<TrainingSpeed> speed);

// The GPUs of a group. Fails where the model has no experts, or the group does not divide them.
[[nodiscard]] Result<std::int32_t> group_size(const JobModel& job, const ExpertParallelOptions& options);

// For policies in which every node has a part of all layers. Fails at a place in the plan.
[[nodiscard]] Status check_one_stage(const ParallelPlan& plan);
[[nodiscard]] Status check_one_stage(const JobModel& job);

// The plans that such policies can run. `redundant`: slots of a GPU beyond its share of the experts.
enum class GroupStages : std::uint8_t { kAny, kOne };
[[nodiscard]] Result<PlanLimits> limits_of_groups(const ExpertParallelOptions& options,
                                                  const TrainingPlan& base, GroupStages stages,
                                                  std::int32_t redundant = 0);
[[nodiscard]] Result<PlanLimits> expert_parallel_limits(const ExpertParallelOptions& options,
                                                        const TrainingPlan& base);

// That any loss stops, and brings back from whole checkpoints.
[[nodiscard]] Result<std::unique_ptr<PreparedPolicy>> prepare_expert_parallel(
    const ExpertParallelOptions& options, const JobModel& job);

}  // namespace goodput
