// The products of a GPU's experts at once, in bf16: op "grouped_gemm", params n, k, experts, dtype and, where
// experts do not get equally many rows, loads; size m, the rows of all experts together.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

// Parts of `rows` in proportion to `loads`: the floors of the exact shares, and what is left one each to the
// largest fractions, the earlier first. REQUIRES: none is negative, they add up to kLoadParts; rows < 2^40.
[[nodiscard]] std::vector<std::int64_t> rows_by_load(const std::vector<int>& loads, std::int64_t rows);

[[nodiscard]] Sweep grouped_gemm_sweep(Sizes sizes);

}  // namespace goodput::gpu::calibrate
