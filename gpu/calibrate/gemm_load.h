// A matrix product that keeps the GPU busy while something else is measured beside it, and its own time
// there.
#pragma once

#include <cuda_runtime.h>

#include <functional>

#include "gpu/calibrate/beside.h"
#include "gpu/calibrate/gemm_case.h"

namespace goodput::gpu::calibrate {

// 8192^3 in bf16, which reads and writes little for what it computes; 32^3 where it is quick. `times`: its k,
// and so what it takes, is so many times that.
[[nodiscard]] GemmShape gemm_load_shape(Sizes sizes, int times = 1);

// How many times as long a product shall last beside something that takes `run_us`. A stream takes about a
// thousand kernels, then the host waits: beside copies of half a second shorter products would end before the
// host gets to the copies. From 1 to 16.
[[nodiscard]] int gemm_load_times(double run_us);

// Allocates. Runs must not overlap.
class GemmLoad {
 public:
  // Waits for the stream, on which it times a few.
  GemmLoad(Sizes sizes, const Stream& stream, int times = 1);

  // Of one run alone.
  [[nodiscard]] double run_us() const { return run_us_; }
  // May be captured.
  void run(cudaStream_t stream) { gemm_.run(data_.operands(0), 0, stream); }
  // REQUIRES: this lives.
  [[nodiscard]] Background background();

 private:
  Gemm gemm_;
  GemmData data_;
  double run_us_;
};

// The product while `beside_copy` ("copy", "d2h", "h2d") runs: the slow-down that the copy makes.
[[nodiscard]] SweepPoint slowed_gemm_point(Sizes sizes, const char* beside_copy,
                                           std::function<Visit(GemmLoad&, PointMeasurer&)> visit);

}  // namespace goodput::gpu::calibrate
