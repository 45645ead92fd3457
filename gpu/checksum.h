// Checksums of blocks of device memory, to see whether a copy arrived whole.
//
// The 8-byte little-endian words w_0, w_1, ... of a block of n bytes, the last filled up with zeros:
//   sum = mix(n) + mix(w_0 + 1 * step) + mix(w_1 + 2 * step) + ...   modulo 2^64
// where mix is the finalizer of SplitMix64 and step its increment (Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, OOPSLA 2014). Sums of integers: the order in which threads add does not
// matter. A word changed is always noticed, for mix is one to one; anything else with a chance of 2^-64 that
// it is not. No protection from an adversary.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace goodput::gpu {

struct Block {
  const void* data;    // device; at any address, fastest at multiples of 16
  std::int64_t bytes;  // >= 0
};

// `blocks`: device, `count` of them; the largest has `most_bytes`. `sums`: device, `count`; need not be set
// before.
void checksum_blocks(const Block* blocks, std::int32_t count, std::int64_t most_bytes, int multiprocessors,
                     std::uint64_t* sums, cudaStream_t stream);

}  // namespace goodput::gpu
