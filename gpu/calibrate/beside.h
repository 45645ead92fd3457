// What something takes while something else runs on the device all the time.
#pragma once

#include <cuda_runtime.h>

#include <functional>

#include "gpu/calibrate/point_measurer.h"

namespace goodput::gpu::calibrate {

// Runs again and again on a stream of its own.
struct Background {
  std::function<void(cudaStream_t stream)> run;  // is captured
  double run_us;                                 // about what one run takes alone
};

// A sample is one run of `run`, which takes about `run_us` alone. Samples during which the background came to
// its end are thrown away and taken again with more of it. Throws std::runtime_error where it never lasts,
// and as PointMeasurer.
[[nodiscard]] Visit measure_beside(const std::function<void(cudaStream_t)>& run, double run_us,
                                   const Background& background, PointMeasurer& measurer);

}  // namespace goodput::gpu::calibrate
