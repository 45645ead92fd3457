#include "gpu/kernel.cuh"
#include "gpu/positions.h"

namespace goodput::gpu {
namespace {

using moe::Interval;
using moe::Tokens;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpSize;
// Tokens a warp takes: many where experts have many, for walking; few where they have few, for each is
// counted. Where the one becomes better than the other is an assumption from counting instructions, not
// measured.
constexpr int kManyPerWarp = 256;
constexpr int kFewPerWarp = kWarpSize;
constexpr std::int64_t kManySlots = 128;  // an expert, on average

// A part of what one expert sends away from this rank.
struct SurplusPart {
  std::int32_t expert;
  Interval tokens;  // numbered from 0 on among the rank's surplus of the expert
};

// The send row of the first of the part's tokens that goes to the host, one of placement.hosts.
__device__ std::int32_t first_row_of(const PlacementView& placement, const ScheduleView& schedule,
                                     const ExpertShare& share, const SurplusPart& part, int host) {
  const Tokens earlier = moe::pair_count(share.map, schedule.chain_of(part.expert),
                                         {share.surplus.first, part.tokens.first}, schedule.residuals[host]);
  return schedule.send_begin[placement.hosts[host].entry] + earlier;
}

// Places are multiples of the multiplier: from one token of a lane to its next they go on by the same step.
struct PlaceWalk {
  Tokens place;
  Tokens step;
  Tokens size;

  __device__ PlaceWalk(const ExpertShare& share, Tokens token) : size(share.map.size) {
    const bool in_order = share.map.multiplier == 1;
    place = in_order ? token : moe::residual_place(share.map, share.reciprocal, token);
    step = in_order ? kWarpSize : moe::residual_place(share.map, share.reciprocal, kWarpSize);
  }
  // Where the walk was in order it goes beyond `size` only behind the last token.
  __device__ void advance() {
    const Tokens left = size - place;
    place = step < left ? place + step : step - left;
  }
};

// By a warp, a lane a token, in the order of tokens. `next_row`: shared memory, a number a host: the row of
// the next token that goes there.
__device__ void walk_part(const PlacementView& placement, const ScheduleView& schedule,
                          const SurplusPart& part, std::int32_t* next_row, std::int32_t* rows) {
  constexpr std::int32_t kUnknown = -1;
  const ExpertShare share = schedule.experts[part.expert];
  const std::int32_t first_host = placement.expert_begin[part.expert];
  const std::int32_t hosts = placement.expert_begin[part.expert + 1] - first_host;
  for (int host = lane_id(); host < hosts; host += kWarpSize) next_row[host] = kUnknown;
  __syncwarp();

  const Tokens last = part.tokens.count - 1;
  PlaceWalk walk(share, share.surplus.first + part.tokens.first + moe::smaller(lane_id(), last));
#pragma unroll 1
  for (Tokens first = 0; first <= last; first += kWarpSize) {
    const Tokens token = first + lane_id();
    const std::int32_t host =
        token <= last ? moe::host_of_place(schedule.residuals + first_host, hosts, walk.place) : -1;
    const unsigned alike = __match_any_sync(kAllLanes, host);
    if (host >= 0 && (alike & lanes_below()) == 0 && next_row[host] == kUnknown) {
      next_row[host] = first_row_of(placement, schedule, share, part, first_host + host);
    }
    __syncwarp();
    const std::int32_t row = number_lanes(next_row, host, alike);
    if (host >= 0) rows[token] = row;
    walk.advance();
  }
}

// The last expert whose surplus begins at `at` or before.
__device__ int expert_at(const ScheduleView& schedule, int experts, std::int32_t at) {
  int expert = 0;
  for (int left = experts; left > 1;) {
    const int half = left / 2;
    if (schedule.surplus_begin[expert + half] <= at) expert += half;
    left -= half;
  }
  return expert;
}

// How many tokens leave the rank: not more than it has slots, where the counts of its slots are right.
__device__ std::int32_t leaving(const PlacementView& placement, const ScheduleView& schedule,
                                std::int64_t slots) {
  return moe::smaller(schedule.surplus_begin[placement.experts], static_cast<std::int32_t>(slots));
}

// A lane a token, whichever experts they are for: counts those before it that go to the same host.
__device__ void count_tokens(const PlacementView& placement, const ScheduleView& schedule, std::int32_t begin,
                             std::int32_t end, std::int32_t* surplus_rows) {
  const std::int32_t at = begin + lane_id();
  if (at >= end) return;
  const int expert = expert_at(schedule, placement.experts, at);
  const ExpertShare share = schedule.experts[expert];
  const SurplusPart token{expert, {at - schedule.surplus_begin[expert], 1}};
  const std::int32_t first_host = placement.expert_begin[expert];
  const std::int32_t hosts = placement.expert_begin[expert + 1] - first_host;
  const PlaceWalk walk(share, share.surplus.first + token.tokens.first);
  const std::int32_t host =
      first_host + moe::host_of_place(schedule.residuals + first_host, hosts, walk.place);
  surplus_rows[at] = first_row_of(placement, schedule, share, token, host);
}

// surplus_rows: the send row of every token that leaves the rank, in the order of schedule.surplus_begin. A
// warp takes `per_warp` of them: one expert may have most, and many may have a few. What an expert has left
// for the warp is walked where it is more than a lane each, else counted with what follows.
// Shared memory: kWarps x placement.most_hosts numbers.
__global__ void __launch_bounds__(kThreads)
    walk_surplus(PlacementView placement, ScheduleView schedule, std::int64_t slots, int per_warp,
                 std::int32_t* __restrict__ surplus_rows) {
  const std::int64_t begin = (std::int64_t{blockIdx.x} * kWarps + warp_id()) * per_warp;
  const std::int32_t all = leaving(placement, schedule, slots);
  if (begin >= all) return;
  std::int32_t* const next_row = dynamic_shared<std::int32_t>() + warp_id() * placement.most_hosts;
  auto at = static_cast<std::int32_t>(begin);
  const std::int32_t end = all - at < per_warp ? all : at + per_warp;
  while (at < end) {
    const int expert = expert_at(schedule, placement.experts, at);
    std::int32_t next = moe::smaller(schedule.surplus_begin[expert + 1], end);
    if (next - at > kWarpSize) {
      const SurplusPart part{expert, {at - schedule.surplus_begin[expert], next - at}};
      walk_part(placement, schedule, part, next_row, surplus_rows + at);
    } else {
      next = moe::smaller(at + kWarpSize, end);
      count_tokens(placement, schedule, at, next, surplus_rows);
    }
    at = next;
  }
}

// The row of the rank's token number `token` for the expert.
__device__ std::int32_t row_of(const ScheduleView& schedule, const std::int32_t* surplus_rows,
                               std::int64_t slots, int expert, Tokens token) {
  const ExpertShare share = schedule.experts[expert];
  if (token < share.local) return schedule.send_begin[share.own_entry] + token;
  const Tokens beyond = token - share.local;
  if (beyond >= share.surplus.count) return -1;  // the expert gets nothing: lost or crowded
  const std::int32_t at = schedule.surplus_begin[expert] + beyond;
  return at < static_cast<std::int32_t>(slots)
             ? surplus_rows[at]
             : -1;  // beyond: the exchanged counts are not those of the slots
}

// A thread a slot.
__global__ void __launch_bounds__(kThreads)
    place(ScheduleView schedule, std::int32_t experts, const std::int32_t* __restrict__ expert_of,
          const std::uint16_t* __restrict__ rank_in_block, const std::int32_t* __restrict__ block_begin,
          const std::int32_t* __restrict__ surplus_rows, std::int64_t slots,
          std::int32_t* __restrict__ positions) {
  const std::int64_t slot = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (slot >= slots) return;
  const std::int32_t expert = __ldg(expert_of + slot);
  std::int32_t row = -1;
  if (expert >= 0 && expert < experts) {
    const std::int64_t block = slot / kSlotsPerBlock;
    row = row_of(schedule, surplus_rows, slots, expert,
                 block_begin[block * experts + expert] + rank_in_block[slot]);
  }
  positions[slot] = row;
}

}  // namespace

void place_slots(const PlacementView& placement, const ScheduleView& schedule, const SlotCounts& counts,
                 const std::int32_t* expert_of, std::int64_t slots, std::int32_t* surplus_rows,
                 std::int32_t* positions, cudaStream_t stream) {
  const int per_warp = slots >= kManySlots * placement.experts ? kManyPerWarp : kFewPerWarp;
  launch(walk_surplus,
         {blocks_for(slots, std::int64_t{kWarps} * per_warp), kThreads,
          kWarps * static_cast<std::size_t>(placement.most_hosts) * sizeof(std::int32_t)},
         stream, placement, schedule, slots, per_warp, surplus_rows);
  launch(place, {blocks_for(slots, kThreads), kThreads}, stream, schedule, placement.experts, expert_of,
         counts.rank_in_block, counts.block_begin, surplus_rows, slots, positions);
}

}  // namespace goodput::gpu
