// Data of which every element is known from its place: random bits, made alike on host and device, so that
// whatever copies or sums it can be checked without keeping it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/device_memory.h"
#include "gpu/element.h"

namespace goodput::gpu::bench {

// A number of magnitude in [0.5, 2) and any sign: 9 random bits, so sums neither overflow nor vanish.
GOODPUT_HOST_DEVICE inline Bf16 payload(std::uint64_t seed, std::int64_t index) {
  // The output function of SplitMix64 (Steele, Lea and Flood, 2014).
  std::uint64_t z = (seed << 40U) + static_cast<std::uint64_t>(index) + 1;
  z *= 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  z ^= z >> 31U;
  return {static_cast<std::uint16_t>(0x3f00U | (z & 0xffU) | ((z >> 8U & 1U) << 15U))};
}

// Bytes that no payload has.
inline constexpr int kPoisonByte = 0xa5;

// to[i] = payload(seed, i)
void fill_payload(Bf16* to, std::int64_t count, std::uint64_t seed, cudaStream_t stream);

// The exclusive or of the payloads of so many seeds in a row, from `first` on; of one seed its payload.
struct MixedPayload {
  std::uint64_t first;
  int seeds;
};

// How many of `data` are not element i of that. Waits for the stream.
std::uint64_t count_wrong_payload(const Bf16* data, std::int64_t count, const MixedPayload& expected,
                                  const Stream& stream);

}  // namespace goodput::gpu::bench
