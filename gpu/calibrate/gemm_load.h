// A matrix product that keeps the GPU busy while something else is measured beside it, and its own time
// there.
#pragma once

#include <cuda_runtime.h>

#include <functional>

#include "gpu/calibrate/beside.h"
#include "gpu/calibrate/gemm_case.h"

namespace goodput::gpu::calibrate {

// 8192^3 in bf16, which moves few bytes for its FLOPs; 32^3 for --quick. k, and with it the time, is
// multiplied by `times`.
[[nodiscard]] GemmShape gemm_load_shape(Sizes sizes, int times = 1);

// The `times` of a product that runs beside something that takes `run_us`, from 1 to 16. The host waits once
// a stream holds about a thousand kernels: beside copies of half a second, a shorter product would end before
// the host starts the copies.
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
