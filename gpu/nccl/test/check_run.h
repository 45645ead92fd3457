// Runs the checks of nccl_checks.h on this rank, in step with all others.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "gpu/nccl/rank_process.h"

namespace goodput::gpu::testing {

// Of all ranks; in memory that they share with their launcher.
struct CheckTally {
  std::atomic<std::int32_t> passed{0};
  std::atomic<std::int32_t> failed{0};
  std::atomic<std::int32_t> refused{0};  // ranks that NCCL did not let join, or reach one another
};

struct CheckRun {
  std::chrono::milliseconds deadline{60'000};  // of every wait
  std::string only;                            // checks with this in their name
  bool print_names = true;
};

// Uses the device that is current. Rank 0 prints names, and counts; every rank prints what
// it finds wrong. A check has passed where all ranks say so. Throws what ends the run on this rank: errors of
// Communicator.
bool run_checks(const CheckRun& run, RankProcess& process, CheckTally& tally);

}  // namespace goodput::gpu::testing
