// A kernel that does nothing.
#pragma once

#include <cuda_runtime.h>

namespace goodput::gpu::calibrate {

void launch_empty(cudaStream_t stream);

}  // namespace goodput::gpu::calibrate
