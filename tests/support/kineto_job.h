// Jobs of torch.profiler traces, simulated or recorded, through the reader and the analysis.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/collectives/arrange_collectives.h"
#include "sim/analysis/analysis.h"
#include "sim/base/errors.h"
#include "sim/ops/rank_activity.h"
#include "tests/support/cuda_job.h"

namespace goodput::testing {

// Of every trace in a folder, in the order of their names.
[[nodiscard]] Result<std::vector<RankActivity>> read_rank_activities(const std::filesystem::path& folder);

// Writes the traces of a simulated job to a temporary folder and reads them. Throws if that fails.
[[nodiscard]] std::vector<RankActivity> activities_of(const CudaJob& job);

struct AnalysedRanks {
  ArrangedJob job;
  Analysis analysis;
  std::vector<std::string> notes;

  // Index into grid.ranks.
  [[nodiscard]] std::size_t worker_of(int rank) const;
  [[nodiscard]] double slowdown_of(int rank) const;
  // The rank with the largest slowdown of its own.
  [[nodiscard]] int slowest_rank() const;
  // Replayed over recorded step, less 1.
  [[nodiscard]] double replay_error() const;
  // The key of the verdict's subject; empty without a verdict.
  [[nodiscard]] std::string subject() const;
};

[[nodiscard]] Result<AnalysedRanks> analyse_ranks(std::vector<RankActivity> activities,
                                                  const CollectiveOptions& options = {});

}  // namespace goodput::testing
