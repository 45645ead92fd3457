#include "gpu/kernel.cuh"
#include "gpu/schedule.h"

namespace goodput::gpu {
namespace {

using moe::Interval;
using moe::SurplusMap;
using moe::Tokens;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpSize;
constexpr int kRows = kThreads / kWarps;  // of a tile: ranks x kWarps experts
constexpr int kLanesPerRow = kWarps;      // eight 4-byte counts, one 32-byte sector
constexpr int kAddingThreads = 1024;
constexpr int kAddedPerThread = 4;

// Tokens of an expert on all ranks, and on those below this one.
struct ExpertTotals {
  std::int64_t all;
  std::int64_t below;
};

// Of the expert of this warp. `partial` is shared memory of kWarps x kLanesPerRow.
__device__ ExpertTotals add_up_ranks(const PlacementView& placement, const Tokens* counts,
                                     ExpertTotals* partial) {
  const int column = static_cast<int>(threadIdx.x) % kLanesPerRow;
  const int expert = static_cast<int>(blockIdx.x) * kWarps + column;
  ExpertTotals sum{0, 0};
  if (expert < placement.experts) {
#pragma unroll 16
    for (int rank = static_cast<int>(threadIdx.x) / kLanesPerRow; rank < placement.ranks; rank += kRows) {
      const Tokens count = __ldg(counts + std::int64_t{rank} * placement.experts + expert);
      sum.all += count;
      if (rank < placement.me) sum.below += count;
    }
  }
#pragma unroll
  for (int offset = kLanesPerRow; offset < kWarpSize; offset *= 2) {
    sum.all += __shfl_xor_sync(kAllLanes, sum.all, offset);
    sum.below += __shfl_xor_sync(kAllLanes, sum.below, offset);
  }
  if (lane_id() < kLanesPerRow) partial[warp_id() * kLanesPerRow + column] = sum;
  __syncthreads();
  const ExpertTotals part =
      lane_id() < kWarps ? partial[lane_id() * kLanesPerRow + warp_id()] : ExpertTotals{0, 0};
  return {warp_sum(part.all), warp_sum(part.below)};
}

// The continued fraction of a candidate over `size`, a quotient a step. The steps of several advance side by
// side: there is no branch in them, and once there is nothing left a step changes nothing.
struct QuotientSearch {
  unsigned numerator;  // 0 from the beginning: no candidate
  unsigned denominator;
  unsigned largest;

  __device__ QuotientSearch(Tokens candidate, unsigned size)
      : numerator(static_cast<unsigned>(candidate) < size ? static_cast<unsigned>(candidate) : 0U),
        denominator(size),
        largest(0) {}

  __device__ void step() {
    const bool left = numerator != 0;
    const unsigned divisor = left ? numerator : 1U;
    const unsigned quotient = denominator / divisor;
    const unsigned remainder = denominator - quotient * divisor;
    largest = left ? max(largest, quotient) : largest;
    denominator = left ? divisor : denominator;
    numerator = left ? remainder : 0U;
  }

  // moe::largest_quotient; `size` for what was no candidate, or has a common divisor with `size`.
  __device__ unsigned result(unsigned size) const {
    return denominator == 1 && largest != 0 ? largest : size;
  }
};

// moe::best_multiplier by a warp: of the candidates with the smallest largest quotient the first.
__device__ Tokens warp_best_multiplier(Tokens size) {
  static_assert(moe::kMultiplierCandidates == 2 * kWarpSize, "each lane has two candidates");
  const auto modulus = static_cast<unsigned>(size);
  QuotientSearch low(moe::multiplier_candidate(size, lane_id()), modulus);
  QuotientSearch high(moe::multiplier_candidate(size, lane_id() + kWarpSize), modulus);
  while ((low.numerator | high.numerator) != 0) {
    low.step();
    high.step();
  }
  const unsigned least = __reduce_min_sync(kAllLanes, min(low.result(modulus), high.result(modulus)));
  const unsigned lows = __ballot_sync(kAllLanes, low.result(modulus) == least);
  const unsigned highs = __ballot_sync(kAllLanes, high.result(modulus) == least);
  if (least >= modulus) return 1;
  const int index =
      lows != 0 ? __ffs(static_cast<int>(lows)) - 1 : __ffs(static_cast<int>(highs)) - 1 + kWarpSize;
  return moe::multiplier_candidate(size, index);
}

// The levels of a map by a warp: all lanes go through them, each makes the reciprocals of its own. Returns
// that of map.size.
__device__ std::uint64_t write_chain(const SurplusMap& map, moe::EuclidLevel* chain) {
  static_assert(moe::kMostEuclidLevels <= 2 * kWarpSize, "each lane has two levels");
  moe::EuclidCursor cursor(map);
  moe::EuclidCursor low = cursor;   // at the level of this lane's number
  moe::EuclidCursor high = cursor;  // ... and of that + kWarpSize
  int levels = 1;
  for (; !cursor.is_last(); ++levels) {
    cursor.advance();
    if (levels == lane_id()) low = cursor;
    if (levels == lane_id() + kWarpSize) high = cursor;
  }
  const moe::EuclidLevel level = low.level();
  if (lane_id() < levels) chain[lane_id()] = level;
  if (lane_id() + kWarpSize < levels) chain[lane_id() + kWarpSize] = high.level();
  return __shfl_sync(kAllLanes, level.reciprocal(), 0);
}

__device__ void report_expert(moe::DispatchStatus status, int expert, DeviceReport* report) {
  if (status == moe::DispatchStatus::kExpertLost) atomicMin(&report->lost_expert, expert);
  if (status == moe::DispatchStatus::kTooManyTokens) atomicMin(&report->crowded_expert, expert);
}

// What an expert's hosts leave over for this rank and for all.
struct HostTotals {
  Tokens local_below;  // tokens that stay with hosts below this rank
  Tokens local;        // ... with this rank
  Tokens residual;     // S
  std::int32_t own_entry;
};

// Splits an expert over its hosts, a lane a host. With no quota (all zero) everything becomes zero.
__device__ HostTotals split_over_hosts(const PlacementView& placement, const Tokens* counts, int expert,
                                       const moe::TokenQuota& quota, const ScheduleView& schedule) {
  const int end = placement.expert_begin[expert + 1];
  HostTotals totals{0, 0, 0, -1};
  for (int first = placement.expert_begin[expert]; first < end; first += kWarpSize) {
    const int at = first + lane_id();
    const bool inside = at < end;
    const ExpertHost host = inside ? placement.hosts[at] : ExpertHost{-1, 0, 0, -1};
    moe::TokenSplit split{0, 0, 0};
    if (inside && quota.replicas != 0) {
      const Tokens routed = __ldg(counts + std::int64_t{host.rank} * placement.experts + expert);
      split = moe::split_tokens(routed, moe::capacity(quota, host.before, host.replicas));
    }
    const Tokens through = warp_inclusive_sum(split.residual);
    if (inside) {
      schedule.local[at] = split.local;
      schedule.residuals[at] = {totals.residual + through - split.residual, split.residual};
    }
    totals.residual += __shfl_sync(kAllLanes, through, kWarpSize - 1);
    totals.local_below += warp_sum(host.rank < placement.me ? split.local : 0);
    const unsigned own = __ballot_sync(kAllLanes, inside && host.rank == placement.me);
    if (own != 0) {
      const int lane = __ffs(static_cast<int>(own)) - 1;
      totals.local = __shfl_sync(kAllLanes, split.local, lane);
      totals.own_entry = __shfl_sync(kAllLanes, host.entry, lane);
    }
  }
  return totals;
}

__device__ std::int32_t replicas_of(const PlacementView& placement, int expert) {
  const int end = placement.expert_begin[expert + 1];
  if (end == placement.expert_begin[expert]) return 0;
  const ExpertHost last = placement.hosts[end - 1];
  return last.before + last.replicas;
}

// Shared memory: kWarps x kLanesPerRow ExpertTotals.
__global__ void __launch_bounds__(kThreads)
    split_experts(PlacementView placement, const Tokens* __restrict__ counts, moe::DispatchPolicy policy,
                  ScheduleView schedule, DeviceReport* report) {
  const ExpertTotals totals = add_up_ranks(placement, counts, dynamic_shared<ExpertTotals>());
  const int expert = static_cast<int>(blockIdx.x) * kWarps + warp_id();
  if (expert >= placement.experts) return;

  const std::int32_t replicas = replicas_of(placement, expert);
  const moe::DispatchStatus status = moe::expert_status(totals.all, replicas);
  const bool ok = status == moe::DispatchStatus::kOk;
  const moe::TokenQuota quota =
      ok ? moe::token_quota(expert, static_cast<Tokens>(totals.all), replicas) : moe::TokenQuota{0, 0, 0, 0};
  const HostTotals hosts = split_over_hosts(placement, counts, expert, quota, schedule);

  ExpertShare share{{0, 0}, hosts.local, hosts.own_entry, {0, 0}, 0};
  if (ok) {
    const Tokens routed = __ldg(counts + std::int64_t{placement.me} * placement.experts + expert);
    const bool packed = policy == moe::DispatchPolicy::kPacked;
    share.map = {hosts.residual, packed ? 1 : warp_best_multiplier(hosts.residual)};
    share.surplus = {static_cast<Tokens>(totals.below - hosts.local_below), routed - hosts.local};
    if (share.map.multiplier != 1) {
      share.reciprocal = write_chain(share.map, schedule.chain_of(expert));
    }
  }
  if (lane_id() == 0) {
    schedule.experts[expert] = share;
    report_expert(status, expert, report);
  }
}

// A thread an entry.
__device__ void count_sent(const PlacementView& placement, const ScheduleView& schedule, int block) {
  const int at = block * kThreads + static_cast<int>(threadIdx.x);
  if (at >= placement.entry_count) return;
  const PlacementEntry entry = placement.entries[at];
  const ExpertShare share = schedule.experts[entry.expert];
  const Tokens stays = at == share.own_entry ? share.local : 0;
  schedule.send_counts[at] = stays + moe::pair_count(share.map, schedule.chain_of(entry.expert),
                                                     share.surplus, schedule.residuals[entry.host]);
}

// Surplus tokens of one expert on kThreads ranks from `first` on, a thread a rank.
// Shared memory: kThreads local tokens, then block_scan's.
__device__ Interval surplus_of_rank(const PlacementView& placement, const Tokens* counts,
                                    const ScheduleView& schedule, int expert, int first) {
  auto* const local = dynamic_shared<Tokens>();
  const int thread = static_cast<int>(threadIdx.x);
  local[thread] = 0;
  __syncthreads();
  Tokens lower = 0;  // this thread's part of the surplus of ranks below `first`
  for (int at = placement.expert_begin[expert] + thread; at < placement.expert_begin[expert + 1];
       at += kThreads) {
    const int rank = placement.hosts[at].rank;
    if (rank < first) lower -= schedule.local[at];
    if (rank >= first && rank < first + kThreads) local[rank - first] = schedule.local[at];
  }
  for (int rank = thread; rank < first; rank += kThreads) {
    lower += __ldg(counts + std::int64_t{rank} * placement.experts + expert);
  }
  __syncthreads();
  const int rank = first + thread;
  const Tokens routed =
      rank < placement.ranks ? __ldg(counts + std::int64_t{rank} * placement.experts + expert) : 0;
  const Tokens surplus = routed - local[thread];
  const Tokens below_first = block_scan(lower, local + kThreads).total;
  return {below_first + block_scan(surplus, local + kThreads).before, surplus};
}

// A thread a source rank, for one expert of this rank.
__device__ void count_received(const PlacementView& placement, const Tokens* counts,
                               const ScheduleView& schedule, int hosted, int first) {
  const PlacementEntry entry = placement.entries[placement.first_entry + hosted];
  const Interval residual = schedule.residuals[entry.host];
  const int rank = first + static_cast<int>(threadIdx.x);
  Tokens count = rank == placement.me ? schedule.local[entry.host] : 0;
  if (residual.count != 0) {
    const Interval surplus = surplus_of_rank(placement, counts, schedule, entry.expert, first);
    count += moe::pair_count(schedule.experts[entry.expert].map, schedule.chain_of(entry.expert), surplus,
                             residual);
  }
  if (rank < placement.ranks) schedule.receive_counts[std::int64_t{rank} * placement.hosted + hosted] = count;
}

// The first `sending` blocks count what is sent, the others what is received: of kThreads ranks for one
// expert. Shared memory: kThreads + kWarps numbers.
__global__ void __launch_bounds__(kThreads)
    count_messages(PlacementView placement, const Tokens* __restrict__ counts, ScheduleView schedule,
                   int sending, int blocks_per_expert) {
  const int block = static_cast<int>(blockIdx.x);
  if (block < sending) {
    count_sent(placement, schedule, block);
  } else {
    const int receiving = block - sending;
    count_received(placement, counts, schedule, receiving / blocks_per_expert,
                   receiving % blocks_per_expert * kThreads);
  }
}

// begin[i] = sum over j < i of count_of(j), for 0 <= i <= size; by all threads of a block, which see each
// other's sums on return.
template <class CountOf>
__device__ void exclusive_sums(int size, CountOf count_of, std::int32_t* begin) {
  auto* const warp_totals = dynamic_shared<std::int32_t>();
  std::int32_t before = 0;
  for (int first = 0; first < size; first += kAddingThreads * kAddedPerThread) {
    const int mine = first + static_cast<int>(threadIdx.x) * kAddedPerThread;
    std::int32_t count[kAddedPerThread];
    std::int32_t sum = 0;
#pragma unroll
    for (int i = 0; i < kAddedPerThread; ++i) {
      count[i] = mine + i < size ? count_of(mine + i) : 0;
      sum += count[i];
    }
    const BlockScan<std::int32_t> scan = block_scan(sum, warp_totals);
    std::int32_t next = before + scan.before;
#pragma unroll
    for (int i = 0; i < kAddedPerThread; ++i) {
      if (mine + i < size) begin[mine + i] = next;
      next += count[i];
    }
    before += scan.total;
  }
  if (threadIdx.x == 0) begin[size] = before;
  __syncthreads();
}

// rows[i] = how many rows lie between bound(i) and bound(i + 1).
template <class Bound>
__device__ void rows_between(int size, Bound bound, const std::int32_t* begin, std::int32_t* rows) {
  for (int i = static_cast<int>(threadIdx.x); i < size; i += kAddingThreads) {
    rows[i] = begin[bound(i + 1)] - begin[bound(i)];
  }
}

// One block a buffer: send, receive, regrouped; and one for the surplus. Shared memory: a number a warp.
__global__ void __launch_bounds__(kAddingThreads) add_up(PlacementView placement, ScheduleView schedule) {
  const int ranks = placement.ranks;
  const int hosted = placement.hosted;
  if (blockIdx.x == 0) {
    exclusive_sums(
        placement.entry_count, [&](int i) { return schedule.send_counts[i]; }, schedule.send_begin);
    rows_between(
        ranks, [&](int rank) { return placement.rank_begin[rank]; }, schedule.send_begin, schedule.send_rows);
  } else if (blockIdx.x == 1) {
    exclusive_sums(
        ranks * hosted, [&](int i) { return schedule.receive_counts[i]; }, schedule.receive_begin);
    rows_between(
        ranks, [&](int rank) { return rank * hosted; }, schedule.receive_begin, schedule.receive_rows);
  } else if (blockIdx.x == 2) {
    const auto by_source = [&](int i) { return schedule.receive_counts[i % ranks * hosted + i / ranks]; };
    exclusive_sums(ranks * hosted, by_source, schedule.group_begin);
    rows_between(
        hosted, [&](int expert) { return expert * ranks; }, schedule.group_begin, schedule.expert_rows);
  } else {
    exclusive_sums(
        placement.experts, [&](int i) { return schedule.experts[i].surplus.count; }, schedule.surplus_begin);
  }
}

}  // namespace

void make_schedule(const PlacementView& placement, const Tokens* counts, moe::DispatchPolicy policy,
                   const ScheduleView& schedule, DeviceReport* report, cudaStream_t stream) {
  launch(split_experts,
         {blocks_for(placement.experts, kWarps), kThreads, kWarps * kLanesPerRow * sizeof(ExpertTotals)},
         stream, placement, counts, policy, schedule, report);
  const unsigned sending = blocks_for(placement.entry_count, kThreads);
  const unsigned per_expert = blocks_for(placement.ranks, kThreads);
  launch(count_messages,
         {sending + static_cast<unsigned>(placement.hosted) * per_expert, kThreads,
          (kThreads + kWarps) * sizeof(Tokens)},
         stream, placement, counts, schedule, static_cast<int>(sending), static_cast<int>(per_expert));
  launch(add_up, {4, kAddingThreads, kAddingThreads / kWarpSize * sizeof(std::int32_t)}, stream, placement,
         schedule);
}

}  // namespace goodput::gpu
