// Matrix products that keep a GPU busy while something else is measured beside them.
#pragma once

#include <cuda_runtime.h>

#include "gpu/calibrate/gemm_case.h"

namespace goodput::gpu::calibrate {

// A product of 8192^3 in bf16, which reads and writes little for what it computes; of 32^3 where it is quick.
// Allocates. Runs must not overlap.
class GemmLoad {
 public:
  // Waits for the stream, on which it times a few.
  GemmLoad(Sizes sizes, const Stream& stream);

  // Of one run alone.
  [[nodiscard]] double run_us() const { return run_us_; }
  // Runs that together take `us` or more, alone; at least one.
  [[nodiscard]] int runs_for(double us) const;
  // May be captured.
  void queue(int runs, cudaStream_t stream);

 private:
  Gemm gemm_;
  GemmData data_;
  double run_us_;
};

}  // namespace goodput::gpu::calibrate
