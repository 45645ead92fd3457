// Writes simulated jobs (cuda_job.h) as Kineto traces, as torch.profiler would.
#pragma once

#include <string>

#include "tests/support/cuda_job.h"

namespace goodput::testing {

// The trace of a rank, a whole file.
[[nodiscard]] std::string kineto_text(const CudaJob& job, int rank, KinetoForm form);
[[nodiscard]] std::string kineto_text(const CudaJob& job, int rank);  // in the form of the job

}  // namespace goodput::testing
