// DeepSpeed-MoE and its like: the experts of a layer are shared out over groups of GPUs, and the job uses
// whole groups.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/policy/policy.h"
#include "models/policy/restart_options.h"

namespace goodput {

struct ExpertParallelOptions {
  std::int32_t ep = 0;       // GPUs of a group; 0: the plan's
  RestartOptions restart{};  // step.moe_speedup among them
};
[[nodiscard]] config::Fields config_fields(ExpertParallelOptions& options, const PolicyContext& context,
                                           const RestartUse& use = {});

// The options of Tutel: faster kernels of MoE layers than DeepSpeed's, by an assumed factor.
[[nodiscard]] ExpertParallelOptions with_tutel_kernels(ExpertParallelOptions options);

struct ExpertParallelJob {
  RestartJob restarts{};
  std::vector<std::string> warnings{};  // of memory
  std::int32_t nodes_of_group = 1;      // over which whole sets of all experts are spread
};
[[nodiscard]] Result<ExpertParallelJob> expert_parallel_job(const JobModel& job,
                                                            const ExpertParallelOptions& options);

// That any loss stops, and brings back from whole checkpoints.
[[nodiscard]] Result<std::unique_ptr<PreparedPolicy>> prepare_expert_parallel(
    const ExpertParallelOptions& options, const JobModel& job);

}  // namespace goodput
