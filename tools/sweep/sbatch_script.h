// The job script that runs a sweep as an array of tasks of Slurm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace goodput {

struct SbatchJob {
  std::string program{};                 // the file of goodput
  std::vector<std::string> arguments{};  // of this run: those of --emit-sbatch and --jobs are left out
  std::string folder{};                  // where relative paths are seen from
  std::uint64_t tasks = 1;
};

// To be given to sbatch; its --array may say another number of tasks. A task that is requeued goes on where
// it was, and one whose process was killed requeues itself a few times.
[[nodiscard]] std::string sbatch_script(const SbatchJob& job);

// How many tasks for so many points: enough that each takes a while, and no more than sites allow.
[[nodiscard]] std::uint64_t sbatch_tasks(std::uint64_t points);

}  // namespace goodput
