// A rank that torchrun or Slurm has started, on one machine or many.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "gpu/nccl/rank_process.h"

namespace goodput::gpu {

struct EnvironmentOptions {
  // Of every run its own, in a folder that all ranks can see and rank 0 can write to; gpu/nccl/id_file.h.
  std::string id_file;
  std::chrono::milliseconds deadline{60'000};  // of share()
  // A variable's value, null where it is not set; std::getenv if this is empty.
  std::function<const char*(const char* name)> variable;
};

// From RANK, WORLD_SIZE and LOCAL_RANK, or where none of them is set from SLURM_PROCID, SLURM_NTASKS and
// SLURM_LOCALID. Throws RankError.
//
// Its lost() is always "": nobody watches the ranks of other machines. That one is gone is for NCCL to find,
// or for the deadline of whoever waits.
[[nodiscard]] std::unique_ptr<RankProcess> environment_rank(const EnvironmentOptions& options);

}  // namespace goodput::gpu
