#include <algorithm>
#include <cstdint>

#include "gpu/bench/payload.h"
#include "gpu/kernel.cuh"

namespace goodput::gpu::bench {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kMostBlocks = 8192;

unsigned grid_for(std::int64_t count) {
  return static_cast<unsigned>(
      std::min((count + kThreads - 1) / kThreads, static_cast<std::int64_t>(kMostBlocks)));
}

__device__ std::int64_t first_of_thread() {
  return std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
}
__device__ std::int64_t step_of_grid() {
  return std::int64_t{gridDim.x} * kThreads;
}

__global__ void __launch_bounds__(kThreads) fill(Bf16* to, std::int64_t count, std::uint64_t seed) {
  for (std::int64_t i = first_of_thread(); i < count; i += step_of_grid()) to[i] = payload(seed, i);
}

__global__ void __launch_bounds__(kThreads)
    count_wrong(const Bf16* data, std::int64_t count, MixedPayload expected, unsigned long long* wrong) {
  unsigned long long mine = 0;
  for (std::int64_t i = first_of_thread(); i < count; i += step_of_grid()) {
    unsigned bits = 0;
    for (int seed = 0; seed < expected.seeds; ++seed) {
      bits ^= payload(expected.first + static_cast<std::uint64_t>(seed), i).bits;
    }
    mine += data[i].bits != bits ? 1 : 0;
  }
  if (mine != 0) atomicAdd(wrong, mine);
}

}  // namespace

void fill_payload(Bf16* to, std::int64_t count, std::uint64_t seed, cudaStream_t stream) {
  launch(fill, {grid_for(count), kThreads}, stream, to, count, seed);
}

std::uint64_t count_wrong_payload(const Bf16* data, std::int64_t count, const MixedPayload& expected,
                                  const Stream& stream) {
  DeviceBuffer<unsigned long long> wrong(1);
  PinnedBuffer<unsigned long long> result(1);
  GOODPUT_CUDA(cudaMemsetAsync(wrong.data(), 0, sizeof(unsigned long long), stream.get()));
  launch(count_wrong, {grid_for(count), kThreads}, stream.get(), data, count, expected, wrong.data());
  GOODPUT_CUDA(cudaMemcpyAsync(result.data(), wrong.data(), sizeof(unsigned long long),
                               cudaMemcpyDeviceToHost, stream.get()));
  stream.synchronize();
  return *result.data();
}

}  // namespace goodput::gpu::bench
