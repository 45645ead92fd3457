// Numbers that collectives move and add: small integers in fp32, so that sums are exact in any order and a
// wrong bit shows. Every one is known from its rank and its place.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/device_memory.h"
#include "gpu/element.h"

namespace goodput::gpu::calibrate {

// 1 to 16: sums of up to 2^20 ranks are below 2^24, up to which fp32 has all integers.
GOODPUT_HOST_DEVICE inline float collective_number(std::int32_t rank, std::int64_t index) {
  // The output function of SplitMix64 (Steele, Lea and Flood, 2014).
  std::uint64_t z = (static_cast<std::uint64_t>(rank) << 40U) + static_cast<std::uint64_t>(index) + 1;
  z *= 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return static_cast<float>(1 + ((z ^ (z >> 31U)) & 0xfU));
}

// to[i] = collective_number(rank, i)
void fill_collective_numbers(float* to, std::int64_t count, std::int32_t rank, cudaStream_t stream);

// Element i: the sum over `ranks` ranks, from `first_rank` on, of their numbers at place begin + i.
struct CollectiveSum {
  std::int32_t first_rank;
  std::int32_t ranks;
  std::int64_t begin;
};

// Adds how many of `data` are something else to `wrong`.
void add_wrong_sums(const float* data, std::int64_t count, const CollectiveSum& expected,
                    unsigned long long* wrong, cudaStream_t stream);

}  // namespace goodput::gpu::calibrate
