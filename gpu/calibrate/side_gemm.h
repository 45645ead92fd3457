// The product that runs beside copies, and its own time there: bf16, m = n = k = 8192, 1.6 ms of an H200.
#pragma once

#include <cstdint>

#include "gpu/calibrate/beside.h"
#include "gpu/calibrate/matmul.h"
#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

[[nodiscard]] GemmShape side_gemm_shape(Sizes sizes);

class SideGemm {
 public:
  explicit SideGemm(Sizes sizes, const Stream& stream);

  // REQUIRES: this lives.
  [[nodiscard]] Background background() const;
  void run(cudaStream_t stream) const;
  [[nodiscard]] double usual_us() const;

 private:
  Gemm gemm_;
  DeviceBuffer<Bf16> x_;
  DeviceBuffer<Bf16> w_;
  DeviceBuffer<Bf16> y_;
};

// The product while `beside_copy` ("copy", "d2h", "h2d") runs: the slow-down that the copy makes.
[[nodiscard]] SweepPoint slowed_gemm_point(Sizes sizes, const char* beside_copy,
                                           std::function<Visit(const SideGemm&, PointMeasurer&)> visit);

}  // namespace goodput::gpu::calibrate
