#include "gpu/calibrate/empty_kernel.h"
#include "gpu/kernel.cuh"

namespace goodput::gpu::calibrate {
namespace {

__global__ void empty() {}

}  // namespace

void launch_empty(cudaStream_t stream) {
  launch(empty, {1, kWarpSize}, stream);
}

}  // namespace goodput::gpu::calibrate
