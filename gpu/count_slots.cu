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
    const unsigned alike = __match_any_sync(kAllLanes, expert[round]);
    rank[round] = number_lanes(mine, expert[round], alike);
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

// In place: counts of every block become the sum over lower blocks. A tile is kTileRows blocks x
// kScannedExperts experts, read and written kScannedRows rows at a time, scanned a column a warp.
// Shared memory: the tile, a column padded so that neither way has bank conflicts: four rows of eight columns
// are 32 banks.
constexpr int kTileParts = 8;
constexpr int kTileRows = kTileParts * kScannedRows;
constexpr int kTileColumn = kTileRows + 4;

__global__ void __launch_bounds__(kThreads)
    scan_blocks(std::int32_t* __restrict__ block_counts, std::int32_t blocks, std::int32_t experts,
                moe::Tokens* __restrict__ counts) {
  auto* const tile = dynamic_shared<std::int32_t>();
  const int row = static_cast<int>(threadIdx.x) / kScannedExperts;
  const int column = static_cast<int>(threadIdx.x) % kScannedExperts;
  const int expert = static_cast<int>(blockIdx.x) * kScannedExperts + column;
  const int scanned_expert = static_cast<int>(blockIdx.x) * kScannedExperts + warp_id();
  std::int32_t* const own = tile + column * kTileColumn + row;
  std::int32_t* const scanned = tile + warp_id() * kTileColumn + lane_id();

  // Where the part of a tile is that this thread reads and writes.
  const auto place = [&](std::int32_t first, int part) {
    const std::int32_t at = first + part * kScannedRows + row;
    return at < blocks && expert < experts ? block_counts + std::int64_t{at} * experts + expert : nullptr;
  };
  std::int32_t next[kTileParts];
  const auto read = [&](std::int32_t first) {
#pragma unroll
    for (int part = 0; part < kTileParts; ++part) {
      const std::int32_t* const count = place(first, part);
      next[part] = count != nullptr ? *count : 0;
    }
  };

  std::int32_t before = 0;
  read(0);
  for (std::int32_t first = 0; first < blocks; first += kTileRows) {
#pragma unroll
    for (int part = 0; part < kTileParts; ++part) own[part * kScannedRows] = next[part];
    read(first + kTileRows);  // on its way while this tile is scanned
    __syncthreads();
#pragma unroll
    for (int part = 0; part < kTileParts; ++part) {
      const std::int32_t count = scanned[part * kScannedRows];
      const std::int32_t through = warp_inclusive_sum(count);
      scanned[part * kScannedRows] = before + through - count;
      before += __shfl_sync(kAllLanes, through, kWarpSize - 1);
    }
    __syncthreads();
    // Written again by nobody but this thread before the next barrier.
#pragma unroll
    for (int part = 0; part < kTileParts; ++part) {
      if (std::int32_t* const count = place(first, part)) *count = own[part * kScannedRows];
    }
  }
  if (lane_id() == 0 && scanned_expert < experts) counts[scanned_expert] = before;
}

}  // namespace

void count_slots(const std::int32_t* expert_of, std::int64_t slots, std::int32_t experts,
                 const SlotCounts& result, DeviceReport* report, cudaStream_t stream) {
  const unsigned blocks = blocks_for(slots, kSlotsPerBlock);
  launch(rank_slots, {blocks, kThreads, kWarps * static_cast<std::size_t>(experts) * sizeof(std::int32_t)},
         stream, expert_of, slots, experts, result.rank_in_block, result.block_begin, report);
  launch(
      scan_blocks,
      {blocks_for(experts, kScannedExperts), kThreads, kScannedExperts * kTileColumn * sizeof(std::int32_t)},
      stream, result.block_begin, static_cast<std::int32_t>(blocks), experts, result.counts);
}

}  // namespace goodput::gpu
