// Stands in for CUDA's header of this name, so that a C++ compiler compiles gpu/*.cu and the host runs their
// kernels. What is modelled: machine.h (kernels), async_copy.h (bulk copies), runtime.h (streams, events,
// graphs, memory).
//
// Kernels get shared memory from simt::dynamic_shared() alone, and are launched by cudaLaunchKernelEx alone.
#pragma once

#include "tests/simt/async_copy.h"
#include "tests/simt/device_functions.h"
#include "tests/simt/machine.h"
#include "tests/simt/runtime_api.h"
#include "tests/simt/vector_types.h"
#include "tests/simt/warp_functions.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)

inline const uint3& threadIdx = simt::special_registers.thread_index;
inline const uint3& blockIdx = simt::special_registers.block_index;
inline const dim3& blockDim = simt::special_registers.block_dim;
inline const dim3& gridDim = simt::special_registers.grid_dim;
inline constexpr int warpSize = simt::kWarpLanes;
