#include "sim/recording/worker_grid.h"

#include <fmt/format.h>

namespace goodput {

std::string worker_name(const WorkerGrid& grid, std::size_t worker) {
  if (grid.naming == WorkerGrid::Naming::kByRank) return fmt::format("rank {}", grid.ranks[worker]);
  const auto [dp_rank, stage] = grid.worker(worker);
  return fmt::format("dp {} stage {} (rank {})", dp_rank, stage, grid.ranks[worker]);
}

}  // namespace goodput
