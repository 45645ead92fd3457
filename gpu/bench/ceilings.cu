#include <algorithm>
#include <functional>

#include "gpu/bench/ceilings.h"
#include "gpu/bench/payload.h"
#include "gpu/bulk_copy.cuh"
#include "gpu/kernel.cuh"

namespace goodput::gpu::bench {
namespace {

constexpr int kThreads = 256;
constexpr int kUnroll = 4;  // loads in flight of a thread
constexpr std::int64_t kChunk = kThreads * kUnroll;

// What is copied: `words` of 16 bytes, to `copies` places one behind the other.
struct CopyWork {
  const uint4* from;
  uint4* to;
  std::int64_t words;
  int copies;
};

// A block takes a chunk after another, all loads of a chunk before its stores.
template <int kCopies>
__global__ void __launch_bounds__(kThreads) copy_vector(CopyWork work) {
  const std::int64_t step = std::int64_t{gridDim.x} * kChunk;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kChunk + threadIdx.x; first < work.words;
       first += step) {
    uint4 word[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const std::int64_t at = first + u * kThreads;
      if (at < work.words) word[u] = __ldcs(work.from + at);
    }
#pragma unroll
    for (int copy = 0; copy < kCopies; ++copy) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const std::int64_t at = first + u * kThreads;
        if (at < work.words) __stcs(work.to + copy * work.words + at, word[u]);
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
    }
    __syncwarp();
    for (int i = 0; i < kStages; ++i) load(i);
    std::int64_t i = 0;
    for (std::int64_t at = first; at < bytes; at += step, ++i) {
      const int stage = static_cast<int>(i % kStages);
      barrier_wait(barriers + stage, static_cast<unsigned>(i / kStages % 2));
      if (lane_id() < work.copies) {
        bulk_store(to + lane_id() * bytes + at, ring + stage * kPieceBytes, kPieceBytes);
      }
      bulk_commit();
      // The stage before this one: its stores have had the time of one piece to read it.
      bulk_wait_read<1>();
      __syncwarp();
      if (i > 0) load(i - 1 + kStages);
    }
    bulk_wait_read<0>();
  } else {
    __trap();  // copy_device() says where it can run
  }
}

struct CopyKernel {
  std::string name;
  std::function<void(cudaStream_t)> run;
};

void launch_vector(const CopyWork& work, unsigned most_blocks, cudaStream_t stream) {
  const LaunchShape shape{std::min(blocks_for(work.words, kChunk), most_blocks), kThreads};
  work.copies == 1 ? launch(copy_vector<1>, shape, stream, work)
                   : launch(copy_vector<8>, shape, stream, work);
}

void launch_bulk(const CopyWork& work, unsigned multiprocessors, cudaStream_t stream) {
  GOODPUT_CUDA(cudaFuncSetAttribute(copy_bulk, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(kBulkShared)));
  const unsigned needed = blocks_for(work.words * 16, kBulkWarps * kPieceBytes);
  launch(copy_bulk, {std::min(needed, multiprocessors), kBulkWarps * kWarpSize, kBulkShared}, stream, work);
}

std::vector<CopyKernel> kernels_for(const CopyWork& work, const CopyDevice& device) {
  const auto multiprocessors = static_cast<unsigned>(device.multiprocessors);
  std::vector<CopyKernel> kernels;
  for (const unsigned blocks : {4U, 8U}) {
    kernels.push_back({"vector, " + std::to_string(blocks) + " blocks an SM",
                       [=](cudaStream_t stream) { launch_vector(work, multiprocessors * blocks, stream); }});
  }
  kernels.push_back(
      {"vector, a block a 16 KiB", [=](cudaStream_t stream) { launch_vector(work, 0x7fffffffU, stream); }});
  if (device.has_bulk_copy) {
    kernels.push_back(
        {"bulk, 8 KiB pieces", [=](cudaStream_t stream) { launch_bulk(work, multiprocessors, stream); }});
  }
  if (work.copies == 1) {
    kernels.push_back({"cudaMemcpyAsync", [=](cudaStream_t stream) {
                         GOODPUT_CUDA(cudaMemcpyAsync(work.to, work.from,
                                                      static_cast<std::size_t>(work.words) * 16,
                                                      cudaMemcpyDeviceToDevice, stream));
                       }});
  }
  return kernels;
}

}  // namespace

const CopyRate* CopyCeiling::best() const {
  const CopyRate* best = nullptr;
  for (const CopyRate& rate : tried) {
    if (rate.nwrong == 0 && (best == nullptr || rate.gb_per_s > best->gb_per_s)) best = &rate;
  }
  return best;
}

std::uint64_t CopyCeiling::nwrong() const {
  std::uint64_t sum = 0;
  for (const CopyRate& rate : tried) sum += rate.nwrong;
  return sum;
}

CopyCeiling measure_copy_ceiling(int copies, std::int64_t source_bytes, const CopyDevice& device,
                                 const Measurer& measurer) {
  CopyCeiling ceiling{copies, source_bytes, {}};
  const std::int64_t elements = source_bytes / static_cast<std::int64_t>(sizeof(Bf16));
  DeviceBuffer<Bf16> from(static_cast<std::size_t>(elements));
  DeviceBuffer<Bf16> to(static_cast<std::size_t>(elements * copies));
  const CopyWork work{reinterpret_cast<const uint4*>(from.data()), reinterpret_cast<uint4*>(to.data()),
                      source_bytes / 16, copies};
  std::uint64_t seed = 1;
  for (const CopyKernel& kernel : kernels_for(work, device)) {
    // New data for every kernel: what the one before left behind is wrong for this one.
    ++seed;
    fill_payload(from.data(), elements, seed, measurer.stream().get());
    const Measurement time = measurer.measure(
        {[&](int, cudaStream_t stream) { kernel.run(stream); }, 1, ceiling.moved_bytes(), Replay::kGraph});
    const std::uint64_t nwrong =
        count_wrong_payload(to.data(), elements * copies, elements, seed, measurer.stream());
    ceiling.tried.push_back(
        {kernel.name, time, gb_per_s(ceiling.moved_bytes(), time.events.us.median), nwrong});
  }
  return ceiling;
}

}  // namespace goodput::gpu::bench
