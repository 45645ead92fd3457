// What the kernels of both passes share: a row in the registers of a block, and sums over the block.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "gpu/calibrate/norm_kernels.h"
#include "gpu/kernel.cuh"

namespace goodput::gpu::calibrate {

inline constexpr int kOfVector = 8;  // elements of 16 bytes

// Sums over a block. One barrier each: places are used in turn, and no thread writes to one again before all
// have read it.
class BlockSums {
 public:
  __device__ explicit BlockSums(float* shared) : shared_(shared) {}

  // REQUIRES: all threads of the block.
  __device__ float sum(float value) {
    float* const place = next_place();
    value = warp_sum(value);
    if (lane_id() == 0) place[warp_id()] = value;
    __syncthreads();
    return total(place);
  }
  __device__ float2 sum(float a, float b) {
    float* const place = next_place();
    a = warp_sum(a);
    b = warp_sum(b);
    if (lane_id() == 0) {
      place[warp_id()] = a;
      place[kWarpSize + warp_id()] = b;
    }
    __syncthreads();
    return {total(place), total(place + kWarpSize)};
  }

  static constexpr std::size_t kSharedBytes = 2 * 2 * kWarpSize * sizeof(float);

 private:
  __device__ float* next_place() {
    turn_ ^= 1;
    return shared_ + turn_ * 2 * kWarpSize;
  }
  __device__ static float total(const float* of_warps) {
    const int warps = static_cast<int>(blockDim.x) / kWarpSize;
    return warp_sum(lane_id() < warps ? of_warps[lane_id()] : 0.0F);
  }

  float* shared_;
  int turn_ = 0;
};

// The vectors of a row that belong to this thread, two elements a word: unpacked they would take twice as
// many registers. Zeros beyond the end of the row.
template <int kHeld>
struct HeldVectors {
  uint4 at[kHeld];
};

// Element `index` of a vector.
__device__ inline float element(const uint4& vector, int index) {
  const unsigned word = index < 2 ? vector.x : index < 4 ? vector.y : index < 6 ? vector.z : vector.w;
  return __uint_as_float(index % 2 == 0 ? word << 16U : word & 0xffff0000U);
}

__device__ inline unsigned pack(float low, float high) {
  return unsigned{from_float<Bf16>(low).bits} | (unsigned{from_float<Bf16>(high).bits} << 16U);
}

__device__ inline void store_row(Bf16* row, int index, const float (&values)[kOfVector]) {
  const uint4 vector{pack(values[0], values[1]), pack(values[2], values[3]), pack(values[4], values[5]),
                     pack(values[6], values[7])};
  __stcs(reinterpret_cast<uint4*>(row) + index, vector);
}

__device__ inline int held_index(int i) {
  return static_cast<int>(threadIdx.x) + i * static_cast<int>(blockDim.x);
}

// Rows pass once; weights are asked for by every block.
enum class Reuse { kOnce, kOften };

template <Reuse kReuse, int kHeld>
__device__ inline HeldVectors<kHeld> load_held(const Bf16* row, int vectors) {
  HeldVectors<kHeld> held{};
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const uint4* const address = reinterpret_cast<const uint4*>(row) + held_index(i);
    if (held_index(i) < vectors) held.at[i] = kReuse == Reuse::kOnce ? __ldcs(address) : __ldg(address);
  }
  return held;
}

// From here on the compiler converts elements again rather than keep them as floats, which took so many
// registers that some were spilled.
template <int kHeld>
__device__ inline void keep_packed(HeldVectors<kHeld>& held) {
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    uint4& word = held.at[i];
    asm volatile("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
  }
}

struct NormSize {
  std::int64_t tokens;
  std::int64_t hidden;

  __device__ int vectors() const { return static_cast<int>(hidden) / kOfVector; }
};

inline void check_norm_rows(const NormShape& shape, std::initializer_list<const void*> addresses) {
  if (shape.hidden <= 0 || shape.hidden % kOfVector != 0 || shape.hidden > kMostNormHidden) {
    throw std::invalid_argument("norm: a row has " + std::to_string(shape.hidden) +
                                " elements; it must have a multiple of 8, at most " +
                                std::to_string(kMostNormHidden));
  }
  for (const void* address : addresses) {
    if (reinterpret_cast<std::uintptr_t>(address) % sizeof(uint4) != 0)
      throw std::invalid_argument("norm: addresses must be multiples of 16 bytes");
  }
}

// As few whole warps as hold a row.
template <class Kernel>
LaunchShape norm_launch(Kernel* kernel, const NormShape& shape, int held, int multiprocessors) {
  const std::int64_t vectors = shape.hidden / kOfVector;
  const unsigned threads = blocks_for(vectors, std::int64_t{held} * kWarpSize) * kWarpSize;
  const unsigned blocks = resident_blocks(kernel, static_cast<unsigned>(shape.tokens), threads,
                                          BlockSums::kSharedBytes, multiprocessors);
  return {blocks, threads, BlockSums::kSharedBytes};
}

}  // namespace goodput::gpu::calibrate
