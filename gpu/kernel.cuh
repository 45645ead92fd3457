// What every kernel here uses: launching, shared memory, sums and scans of a warp and of a block.
//
// Kernels keep to what the emulator of the tests checks strictly: shared memory is dynamic, warp operations
// take all 32 lanes, nobody leaves a kernel before the last barrier of its block.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "gpu/cuda_call.h"

namespace goodput::gpu {

inline constexpr int kWarpSize = 32;
inline constexpr unsigned kAllLanes = 0xffffffffU;

struct LaunchShape {
  unsigned blocks;  // 0: nothing is launched
  unsigned threads;
  std::size_t shared_bytes = 0;
};

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
            Arguments&&... arguments) {
  if (shape.blocks == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.blocks);
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  GOODPUT_CUDA(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
}

constexpr unsigned blocks_for(std::int64_t items, std::int64_t a_block) {
  return static_cast<unsigned>((items + a_block - 1) / a_block);
}

// `needed` blocks or as many as fit on the device at once: for kernels whose blocks take one item after
// another. Asked at every launch: what fits depends on the instance of the kernel and on its shared memory.
template <class... Parameters>
unsigned resident_blocks(void (*kernel)(Parameters...), unsigned needed, unsigned threads,
                         std::size_t shared_bytes, int multiprocessors) {
  int fit = 0;
  GOODPUT_CUDA(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, static_cast<int>(threads), shared_bytes));
  // None: the launch says why.
  return std::min(needed, static_cast<unsigned>(std::max(fit, 1)) * static_cast<unsigned>(multiprocessors));
}

// The dynamic shared memory of the block, aligned to 128 bytes.
template <class T>
__device__ inline T* dynamic_shared() {
#if defined(__CUDACC__)
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  return reinterpret_cast<T*>(shared_bytes);
#else
  return static_cast<T*>(simt::dynamic_shared());
#endif
}

__device__ inline int lane_id() {
  return static_cast<int>(threadIdx.x) % kWarpSize;
}
__device__ inline int warp_id() {
  return static_cast<int>(threadIdx.x) / kWarpSize;
}

// Lanes below this one.
__device__ inline unsigned lanes_below() {
  return (1U << static_cast<unsigned>(lane_id())) - 1U;
}

template <class T>
__device__ inline T warp_sum(T value) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

// The sum over this lane and all below it.
template <class T>
__device__ inline T warp_inclusive_sum(T value) {
  for (int offset = 1; offset < kWarpSize; offset *= 2) {
    const T below = __shfl_up_sync(kAllLanes, value, static_cast<unsigned>(offset));
    if (lane_id() >= offset) value += below;
  }
  return value;
}

// Numbers the lanes with the same counter, in the order of lanes, from what the counter says on, and counts
// them. `counter`: negative takes no part, its number means nothing. `alike`: __match_any_sync of `counter`.
__device__ inline std::int32_t number_lanes(std::int32_t* counters, std::int32_t counter, unsigned alike) {
  const std::int32_t before = counter < 0 ? 0 : counters[counter];
  const int below = __popc(alike & lanes_below());
  __syncwarp();
  if (counter >= 0 && below == 0) counters[counter] = before + __popc(alike);
  __syncwarp();
  return before + below;
}

// What a thread learns of a scan over its block.
template <class T>
struct BlockScan {
  T before;  // sum over all lower threads
  T total;
};

// REQUIRES: at most 32 warps; `warp_totals` is shared memory of one T a warp, free again on return.
template <class T>
__device__ inline BlockScan<T> block_scan(T value, T* warp_totals) {
  const T inclusive = warp_inclusive_sum(value);
  if (lane_id() == kWarpSize - 1) warp_totals[warp_id()] = inclusive;
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / kWarpSize;
  const T of_lane = lane_id() < warps ? warp_totals[lane_id()] : T{0};
  const T through = warp_inclusive_sum(of_lane);
  const T lower_warps = __shfl_sync(kAllLanes, through - of_lane, warp_id());
  const T total = __shfl_sync(kAllLanes, through, kWarpSize - 1);
  __syncthreads();
  return {lower_warps + inclusive - value, total};
}

}  // namespace goodput::gpu
