// One product as it is measured: its operands on the device, a check, a visit.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/calibrate/matmul.h"
#include "gpu/calibrate/product_data.h"
#include "gpu/calibrate/sweep.h"
#include "gpu/device_memory.h"

namespace goodput::gpu::calibrate {

// Runs rotate over so many sets of operands that none finds its own in the L2 cache: weights come from memory
// in training, and what a layer reads was written long before.
[[nodiscard]] int gemm_sets(const GemmShape& shape);

// Sets of operands and results, uninitialised.
class GemmData {
 public:
  GemmData(const GemmShape& shape, int sets);

  [[nodiscard]] GemmOperands operands(int set);
  // Operands of all sets; different ones in each.
  void fill(MatrixFill fill, cudaStream_t stream);

 private:
  GemmShape shape_;
  int sets_;
  std::size_t stride_a_;  // bytes from set to set
  std::size_t stride_b_;
  std::size_t stride_y_;  // elements
  DeviceBuffer<unsigned char> a_;
  DeviceBuffer<unsigned char> b_;
  DeviceBuffer<Bf16> y_;
};

// Wrong elements of those looked at (count_wrong_products()). Overwrites the operands, which are the caller's
// to write.
[[nodiscard]] std::uint64_t count_wrong(const Gemm& gemm, int answer, const GemmOperands& operands,
                                        const Stream& stream);

// Measures one of the library's answers, from 0 on; where there are fewer, the last. Throws MatmulError.
[[nodiscard]] Visit visit_gemm(const GemmShape& shape, int answer, PointMeasurer& measurer,
                               Checking checking);

// us of a run on an H200 by its ratings (989 or 1979 TFLOP/s, 4.8 TB/s), 0.7 of them.
[[nodiscard]] double product_estimate_us(double flops, std::int64_t bytes, MatrixType type);
// Seconds of a visit. `bytes`: of a run.
[[nodiscard]] double product_visit_estimate_s(double flops, std::int64_t bytes, MatrixType type);

}  // namespace goodput::gpu::calibrate
