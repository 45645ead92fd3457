#include <algorithm>
#include <cstdint>

#include "gpu/bench/copy_kernels.h"
#include "gpu/bulk_copy.cuh"
#include "gpu/kernel.cuh"

namespace goodput::gpu::bench {
namespace {

constexpr int kThreads = 256;

__device__ uint4 mix(const uint4& a, const uint4& b) {
  return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w);
}

template <int kReads>
__device__ uint4 read_places(const uint4* from, std::int64_t stride) {
  uint4 word = __ldcs(from);
#pragma unroll
  for (int place = 1; place < kReads; ++place) word = mix(word, __ldcs(from + place * stride));
  return word;
}

// A block takes a chunk after another, all loads of a chunk before its stores: kReads * kUnroll of a thread
// are in flight. (Where no number of blocks is asked for, nvcc 13.0 gives 8 reads so few registers that only
// 5 are.)
template <int kReads, int kWrites, int kUnroll>
__global__ void __launch_bounds__(kThreads, kReads > 1 ? 1 : 0) copy_vector(CopyWork work) {
  constexpr std::int64_t kChunk = kThreads * kUnroll;
  const std::int64_t step = std::int64_t{gridDim.x} * kChunk;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kChunk + threadIdx.x; first < work.words;
       first += step) {
    uint4 word[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const std::int64_t at = first + u * kThreads;
      if constexpr (kReads > 1) {
        // Beyond the end the last word, into nothing: a branch would part the loads.
        word[u] = read_places<kReads>(work.from + min(at, work.words - 1), work.stride);
      } else if (at < work.words) {
        word[u] = read_places<1>(work.from + at, work.stride);
      }
    }
#pragma unroll
    for (int place = 0; place < kWrites; ++place) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const std::int64_t at = first + u * kThreads;
        if (at < work.words) __stcs(work.to + place * work.stride + at, word[u]);
      }
    }
  }
}

constexpr int kBulkWarps = 4;
constexpr int kStages = 6;
constexpr int kPieceBytes = 8192;
constexpr std::size_t kBulkShared = kBulkWarps * kStages * (kPieceBytes + sizeof(std::uint64_t));

// A warp takes every n-th piece through its ring of stages: lane 0 loads, lane j stores copy j.
__global__ void __launch_bounds__(kBulkWarps* kWarpSize) copy_bulk(CopyWork work) {
  if constexpr (kHasBulkCopy) {
    auto* const shared = dynamic_shared<unsigned char>();
    unsigned char* const ring = shared + warp_id() * kStages * kPieceBytes;
    auto* const barriers =
        reinterpret_cast<std::uint64_t*>(shared + kBulkWarps * kStages * kPieceBytes) + warp_id() * kStages;
    const auto* const from = reinterpret_cast<const unsigned char*>(work.from);
    auto* const to = reinterpret_cast<unsigned char*>(work.to);
    const std::int64_t bytes = work.words * 16;
    const std::int64_t step = std::int64_t{gridDim.x} * kBulkWarps * kPieceBytes;
    const std::int64_t first = (std::int64_t{blockIdx.x} * kBulkWarps + warp_id()) * kPieceBytes;

    const auto load = [&](std::int64_t i) {
      const std::int64_t at = first + i * step;
      if (at >= bytes || lane_id() != 0) return;
      const int stage = static_cast<int>(i % kStages);
      barrier_expect(barriers + stage, kPieceBytes);
      bulk_load(ring + stage * kPieceBytes, from + at, kPieceBytes, barriers + stage);
    };

    if (lane_id() == 0) {
      for (int stage = 0; stage < kStages; ++stage) barrier_init(barriers + stage, 1);
      fence_barriers();
    }
    __syncwarp();
    for (int i = 0; i < kStages; ++i) load(i);
    std::int64_t i = 0;
    for (std::int64_t at = first; at < bytes; at += step, ++i) {
      const int stage = static_cast<int>(i % kStages);
      barrier_wait(barriers + stage, static_cast<unsigned>(i / kStages % 2));
      if (lane_id() < work.flow.writes) {
        bulk_store(to + lane_id() * work.stride * 16 + at, ring + stage * kPieceBytes, kPieceBytes);
      }
      bulk_commit();
      // The stage before this one: its stores have had the time of one piece to read it.
      bulk_wait_read<1>();
      __syncwarp();
      if (i > 0) load(i - 1 + kStages);
    }
    bulk_wait_read<0>();
  } else {
    __trap();  // copy_kernels() offers it where it can run
  }
}

template <int kReads, int kWrites, int kUnroll>
void launch_vector(const CopyWork& work, unsigned most_blocks, cudaStream_t stream) {
  const unsigned needed = blocks_for(work.words, kThreads * kUnroll);
  launch(copy_vector<kReads, kWrites, kUnroll>, {std::min(needed, most_blocks), kThreads}, stream, work);
}

void launch_bulk(const CopyWork& work, unsigned multiprocessors, cudaStream_t stream) {
  GOODPUT_CUDA(cudaFuncSetAttribute(copy_bulk, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(kBulkShared)));
  const unsigned needed = blocks_for(work.words * 16, kBulkWarps * kPieceBytes);
  launch(copy_bulk, {std::min(needed, multiprocessors), kBulkWarps * kWarpSize, kBulkShared}, stream, work);
}

// With 4 and 8 blocks a multiprocessor that go on and on, and with a block a chunk.
template <int kReads, int kWrites, int kUnroll>
void add_vector(const CopyWork& work, const CopyDevice& device, std::vector<CopyKernel>& kernels) {
  const std::string loads = "vector, " + std::to_string(kReads * kUnroll) + " loads, ";
  for (const int blocks : {4, 8}) {
    const auto most = static_cast<unsigned>(device.multiprocessors * blocks);
    kernels.push_back({loads + std::to_string(blocks) + " blocks an SM", [=](cudaStream_t stream) {
                         launch_vector<kReads, kWrites, kUnroll>(work, most, stream);
                       }});
  }
  kernels.push_back({loads + "a block a chunk", [=](cudaStream_t stream) {
                       launch_vector<kReads, kWrites, kUnroll>(work, 0x7fffffffU, stream);
                     }});
}

}  // namespace

std::vector<CopyKernel> copy_kernels(const CopyWork& work, const CopyDevice& device) {
  std::vector<CopyKernel> kernels;
  if (work.flow.reads > 1) {
    add_vector<8, 1, 1>(work, device, kernels);
    add_vector<8, 1, 2>(work, device, kernels);
    return kernels;
  }
  work.flow.writes == 1 ? add_vector<1, 1, 4>(work, device, kernels)
                        : add_vector<1, 8, 4>(work, device, kernels);
  if (device.has_bulk_copy) {
    const auto multiprocessors = static_cast<unsigned>(device.multiprocessors);
    kernels.push_back(
        {"bulk, 8 KiB pieces", [=](cudaStream_t stream) { launch_bulk(work, multiprocessors, stream); }});
  }
  if (work.flow.writes == 1) {
    kernels.push_back({"cudaMemcpyAsync", [=](cudaStream_t stream) {
                         GOODPUT_CUDA(cudaMemcpyAsync(work.to, work.from,
                                                      static_cast<std::size_t>(work.words) * 16,
                                                      cudaMemcpyDeviceToDevice, stream));
                       }});
  }
  return kernels;
}

}  // namespace goodput::gpu::bench
