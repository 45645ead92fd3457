// The products of a GPU's experts at once, in bf16: op "grouped_gemm", params n, k, experts, dtype and, where
// experts do not get equally many rows, loads; size m, the rows of all experts together.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "gpu/calibrate/sweep.h"
#include "gpu/device_memory.h"

namespace goodput::gpu::calibrate {

// Parts of `rows` in proportion to `loads`: the floors of the exact shares, and what is left one each to the
// largest fractions, the earlier first. REQUIRES: none is negative, one is positive; rows times their sum <
// 2^63.
[[nodiscard]] std::vector<std::int64_t> rows_by_load(const std::vector<int>& loads, std::int64_t rows);

// Runs it twice as a captured graph and says true, or, where it cannot be captured, once without and says
// false. Throws CudaError and MatmulError where it cannot be run at all.
[[nodiscard]] bool run_as_graph(const std::function<void(cudaStream_t)>& run, const Stream& stream);

[[nodiscard]] Sweep grouped_gemm_sweep(Sizes sizes);

}  // namespace goodput::gpu::calibrate
