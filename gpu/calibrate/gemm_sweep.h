// Matrix products over the number of rows: op "gemm", params n, k, dtype and, where it is not that of the
// forward pass, layout; size m. All are of (m,k) by (k,n) with a result of (m,n): a layout says how the
// operands lie, not which product of a layer it is.
#pragma once

#include <vector>

#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

[[nodiscard]] Sweep gemm_sweep(Sizes sizes);

// The library's first answers for 8192^3 in bf16, a point each: the best is the ceiling gemm_bf16_tflops.
// Where there are fewer, the last stands for the rest.
[[nodiscard]] std::vector<SweepPoint> gemm_ceiling_points(Sizes sizes);

}  // namespace goodput::gpu::calibrate
