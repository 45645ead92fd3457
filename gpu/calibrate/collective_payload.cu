#include <algorithm>
#include <cstdint>

#include "gpu/calibrate/collective_payload.h"
#include "gpu/kernel.cuh"

namespace goodput::gpu::calibrate {
namespace {

constexpr int kNumberThreads = 256;
constexpr std::int64_t kMostNumberBlocks = 8192;

LaunchShape shape_for(std::int64_t count) {
  const std::int64_t blocks = (count + kNumberThreads - 1) / kNumberThreads;
  return {static_cast<unsigned>(std::min(blocks, kMostNumberBlocks)), kNumberThreads};
}

__device__ std::int64_t first_place() {
  return std::int64_t{blockIdx.x} * kNumberThreads + threadIdx.x;
}
__device__ std::int64_t places_of_grid() {
  return std::int64_t{gridDim.x} * kNumberThreads;
}

__global__ void __launch_bounds__(kNumberThreads)
    fill_numbers(float* to, std::int64_t count, std::int32_t rank) {
#pragma unroll 1  // unrolled, it would divide 64 bits
  for (std::int64_t i = first_place(); i < count; i += places_of_grid()) to[i] = collective_number(rank, i);
}

__global__ void __launch_bounds__(kNumberThreads)
    count_wrong_sums(const float* data, std::int64_t count, CollectiveSum expected,
                     unsigned long long* wrong) {
  unsigned long long mine = 0;
#pragma unroll 1  // unrolled, it would divide 64 bits
  for (std::int64_t i = first_place(); i < count; i += places_of_grid()) {
    float sum = 0;
    for (std::int32_t rank = 0; rank < expected.ranks; ++rank) {
      sum += collective_number(expected.first_rank + rank, expected.begin + i);
    }
    mine += data[i] != sum ? 1 : 0;
  }
  if (mine != 0) atomicAdd(wrong, mine);
}

}  // namespace

void fill_collective_numbers(float* to, std::int64_t count, std::int32_t rank, cudaStream_t stream) {
  launch(fill_numbers, shape_for(count), stream, to, count, rank);
}

void add_wrong_sums(const float* data, std::int64_t count, const CollectiveSum& expected,
                    unsigned long long* wrong, cudaStream_t stream) {
  launch(count_wrong_sums, shape_for(count), stream, data, count, expected, wrong);
}

}  // namespace goodput::gpu::calibrate
