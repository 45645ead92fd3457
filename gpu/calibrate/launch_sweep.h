// What launching costs: the period of empty kernels launched one by one (`launch_gap`), and in a graph
// (`empty_kernel`).
#pragma once

#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

// "launch"
[[nodiscard]] Sweep launch_sweep();

}  // namespace goodput::gpu::calibrate
