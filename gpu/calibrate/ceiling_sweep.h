// The best that simple programs reach: copies of 2 GB and more, and a large square product.
#pragma once

#include "gpu/calibrate/sweep.h"
#include "gpu/row_copy.h"

namespace goodput::gpu::calibrate {

// "ceilings". `device`: which kernels it can run.
[[nodiscard]] Sweep ceiling_sweep(Sizes sizes, const CopyDevice& device);

}  // namespace goodput::gpu::calibrate
