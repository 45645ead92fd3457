// cuBLAS as it is found when a program runs (find_matmul() of gpu/calibrate/matmul.h): libcublasLt.so.N of
// the CUDA that this was compiled with, and libcublas.so.N for products of groups, where that is.
#pragma once

namespace goodput::gpu::calibrate {

// Whether cublasGemmGroupedBatchedEx was found besides; without it everything else works.
[[nodiscard]] bool has_grouped_gemm();

}  // namespace goodput::gpu::calibrate
