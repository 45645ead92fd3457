// The second half of a calibration: the collectives of several GPUs, a process each.
#pragma once

#include "gpu/calibrate/calibration_stage.h"
#include "gpu/nccl/rank_process.h"

namespace goodput::gpu::calibrate {

// What every rank calls, on a device of its own; rank 0 has the journal, and its answer counts. Throws as
// measure_collectives(), std::invalid_argument and std::runtime_error.
[[nodiscard]] StageEnd measure_as_rank(const StageRequest& request, JournalStart start, RankProcess& process);

}  // namespace goodput::gpu::calibrate
