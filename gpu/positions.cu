#include "gpu/kernel.cuh"
#include "gpu/positions.h"

namespace goodput::gpu {
namespace {

using moe::Tokens;

constexpr int kThreads = 256;

// The row of the rank's token number `token` for the expert.
__device__ std::int32_t row_of(const PlacementView& placement, const ScheduleView& schedule, int expert,
                               Tokens token) {
  const ExpertShare share = schedule.experts[expert];
  if (token < share.local) return schedule.send_begin[share.own_entry] + token;
  const Tokens beyond = token - share.local;
  if (beyond >= share.surplus.count) return -1;  // the expert gets nothing: lost or crowded
  const std::int32_t first = placement.expert_begin[expert];
  const moe::TokenPlace place =
      moe::token_place(share.map, share.surplus, schedule.residuals + first,
                       placement.expert_begin[expert + 1] - first, share.surplus.first + beyond);
  return schedule.send_begin[placement.hosts[first + place.host].entry] + place.index;
}

// A thread a slot.
__global__ void __launch_bounds__(kThreads)
    place(PlacementView placement, ScheduleView schedule, const std::int32_t* __restrict__ expert_of,
          const std::uint16_t* __restrict__ rank_in_block, const std::int32_t* __restrict__ block_begin,
          std::int64_t slots, std::int32_t* __restrict__ positions) {
  const std::int64_t slot = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (slot >= slots) return;
  const std::int32_t expert = __ldg(expert_of + slot);
  std::int32_t row = -1;
  if (expert >= 0 && expert < placement.experts) {
    const std::int64_t block = slot / kSlotsPerBlock;
    row = row_of(placement, schedule, expert,
                 block_begin[block * placement.experts + expert] + rank_in_block[slot]);
  }
  positions[slot] = row;
}

}  // namespace

void place_slots(const PlacementView& placement, const ScheduleView& schedule, const SlotCounts& counts,
                 const std::int32_t* expert_of, std::int64_t slots, std::int32_t* positions,
                 cudaStream_t stream) {
  launch(place, {blocks_for(slots, kThreads), kThreads}, stream, placement, schedule, expert_of,
         counts.rank_in_block, counts.block_begin, slots, positions);
}

}  // namespace goodput::gpu
