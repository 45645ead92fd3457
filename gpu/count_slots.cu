#include "gpu/count_slots.h"
#include "gpu/kernel.cuh"

namespace goodput::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpSize;
constexpr int kSlotsPerWarp = kSlotsPerBlock / kWarps;
constexpr int kRounds = kSlotsPerWarp / kWarpSize;

// Experts per block of the scan: eight 4-byte counts are one 32-byte sector of a row.
constexpr int kScannedExperts = 8;
constexpr int kScannedRows = kThreads / kScannedExperts;
static_assert(kScannedRows == kWarpSize && kScannedExperts == kWarps, "a warp scans the rows of an expert");

// Shared memory: kWarps x experts counters.
__global__ void __launch_bounds__(kThreads, 4)
    rank_slots(const std::int32_t* __restrict__ expert_of, std::int64_t slots, std::int32_t experts,
               std::uint16_t* __restrict__ rank_in_block, std::int32_t* __restrict__ block_counts,
               DeviceReport* report) {
  auto* const counters = dynamic_shared<std::int32_t>();
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < kWarps * experts; i += kThreads) counters[i] = 0;
  __syncthreads();

  std::int32_t* const mine = counters + warp_id() * experts;
  const std::int64_t first =
      std::int64_t{blockIdx.x} * kSlotsPerBlock + warp_id() * kSlotsPerWarp + lane_id();
  std::int32_t expert[kRounds];
  std::int32_t rank[kRounds];
  std::int32_t bad_slot = kNothingWrong;
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t slot = first + round * kWarpSize;
    expert[round] = slot < slots ? __ldg(expert_of + slot) : -1;
    if (expert[round] < -1 || expert[round] >= experts) {
      bad_slot = min(bad_slot, static_cast<std::int32_t>(slot));
      expert[round] = -1;
    }
  }
  if (bad_slot != kNothingWrong) atomicMin(&report->bad_slot, bad_slot);
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const unsigned alike = __match_any_sync(kAllLanes, static_cast<unsigned>(expert[round]));
    const int below = __popc(alike & lanes_below());
    const std::int32_t before = expert[round] < 0 ? 0 : mine[expert[round]];
    rank[round] = before + below;
    __syncwarp();
    if (expert[round] >= 0 && below == 0) mine[expert[round]] = before + __popc(alike);
    __syncwarp();
  }
  __syncthreads();

  // Counters become the number of the block's slots in lower warps.
  for (int e = thread; e < experts; e += kThreads) {
    std::int32_t total = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) {
      const std::int32_t count = counters[warp * experts + e];
      counters[warp * experts + e] = total;
      total += count;
    }
    block_counts[std::int64_t{blockIdx.x} * experts + e] = total;
  }
  __syncthreads();

#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    if (expert[round] < 0) continue;
    rank_in_block[first + round * kWarpSize] = static_cast<std::uint16_t>(mine[expert[round]] + rank[round]);
  }
}

// In place: counts of every block become the sum over lower blocks. A tile is kScannedRows blocks x
// kScannedExperts experts, read and written a row at a time, scanned a column a warp.
// Shared memory: the tile, a column padded by one against bank conflicts.
__global__ void __launch_bounds__(kThreads)
    scan_blocks(std::int32_t* __restrict__ block_counts, std::int32_t blocks, std::int32_t experts,
                moe::Tokens* __restrict__ counts) {
  auto* const tile = dynamic_shared<std::int32_t>();
  constexpr int kColumn = kScannedRows + 1;
  const int row = static_cast<int>(threadIdx.x) / kScannedExperts;
  const int column = static_cast<int>(threadIdx.x) % kScannedExperts;
  const int expert = static_cast<int>(blockIdx.x) * kScannedExperts + column;
  const int scanned_expert = static_cast<int>(blockIdx.x) * kScannedExperts + warp_id();

  const auto place = [&](std::int32_t first) {
    const bool inside = first + row < blocks && expert < experts;
    return inside ? block_counts + std::int64_t{first + row} * experts + expert : nullptr;
  };
  const auto read = [](const std::int32_t* count) { return count != nullptr ? *count : 0; };

  std::int32_t before = 0;
  std::int32_t next = read(place(0));
  for (std::int32_t first = 0; first < blocks; first += kScannedRows) {
    tile[column * kColumn + row] = next;
    next = read(place(first + kScannedRows));  // on its way while this tile is scanned
    __syncthreads();
    std::int32_t* const scanned = tile + warp_id() * kColumn + lane_id();
    const std::int32_t own = *scanned;
    const std::int32_t inclusive = warp_inclusive_sum(own);
    *scanned = before + inclusive - own;
    before += __shfl_sync(kAllLanes, inclusive, kWarpSize - 1);
    __syncthreads();
    // Written again by nobody but this thread before the next barrier.
    if (std::int32_t* const count = place(first)) *count = tile[column * kColumn + row];
  }
  if (lane_id() == 0 && scanned_expert < experts) counts[scanned_expert] = before;
}

}  // namespace

void count_slots(const std::int32_t* expert_of, std::int64_t slots, std::int32_t experts,
                 const SlotCounts& result, DeviceReport* report, cudaStream_t stream) {
  const unsigned blocks = blocks_for(slots, kSlotsPerBlock);
  launch(rank_slots, {blocks, kThreads, kWarps * static_cast<std::size_t>(experts) * sizeof(std::int32_t)},
         stream, expert_of, slots, experts, result.rank_in_block, result.block_begin, report);
  launch(scan_blocks,
         {blocks_for(experts, kScannedExperts), kThreads,
          kScannedExperts * (kScannedRows + 1) * sizeof(std::int32_t)},
         stream, result.block_begin, static_cast<std::int32_t>(blocks), experts, result.counts);
}

}  // namespace goodput::gpu
