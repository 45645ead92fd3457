// K2: the dispatch schedule of this rank, from the counts of all ranks. Three kernels:
//   a. split_experts  a warp an expert: capacities, local tokens, residual places, this rank's surplus, and
//                     the levels of Euclid's algorithm that all its messages share;
//   b. count_messages a thread a message this rank sends, a thread a message it receives;
//   c. add_up         where every message begins, in the send, receive and regrouped buffers, and where an
//                     expert's tokens begin among all that leave the rank.
// The arithmetic is that of models/dispatch; every rank computes the same numbers from the same counts.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/host_tables.h"
#include "gpu/report.h"
#include "models/dispatch/euclid_chain.h"

namespace goodput::gpu {

// HostTables in device memory, seen from one rank.
struct PlacementView {
  std::int32_t ranks;
  std::int32_t experts;
  std::int32_t entry_count;          // as many as hosts
  std::int32_t most_hosts;           // of an expert
  const ExpertHost* hosts;           // by expert, then rank
  const std::int32_t* expert_begin;  // experts + 1
  const PlacementEntry* entries;     // by rank, then expert
  const std::int32_t* rank_begin;    // ranks + 1

  std::int32_t me;
  std::int32_t first_entry;  // of this rank
  std::int32_t hosted;       // entries of this rank
};

// An expert as this rank sees it. Of the rank's tokens the first `local` stay, the others are `surplus`.
struct alignas(16) ExpertShare {  // two loads of a kernel
  moe::Interval surplus;
  moe::Tokens local;
  std::int32_t own_entry;  // this rank's entry of the expert; -1 where it hosts none
  moe::SurplusMap map;
  std::uint64_t reciprocal;  // of map.size, where the multiplier is not 1
};

// Views of device memory. The rows of a send buffer are by entry (rank, then expert of the destination),
// those of a receive buffer by source rank, then expert; of a regrouped one by expert, then source.
struct ScheduleView {
  ExpertShare* experts;          // experts
  moe::EuclidLevel* chains;      // experts x moe::kMostEuclidLevels; none where the multiplier is 1
  moe::Tokens* local;            // hosts: tokens that stay with the host
  moe::Interval* residuals;      // hosts
  std::int32_t* send_counts;     // entries
  std::int32_t* send_begin;      // entries + 1
  std::int32_t* receive_counts;  // ranks x hosted
  std::int32_t* receive_begin;   // ranks * hosted + 1
  std::int32_t* group_begin;     // hosted * ranks + 1
  std::int32_t* surplus_begin;   // experts + 1: the surplus of lower experts
  std::int32_t* send_rows;       // ranks: rows for every rank
  std::int32_t* receive_rows;    // ranks: rows from every rank
  std::int32_t* expert_rows;     // hosted: rows of every expert of this rank

  [[nodiscard]] GOODPUT_HOST_DEVICE moe::EuclidLevel* chain_of(std::int32_t expert) const {
    return chains + std::int64_t{expert} * moe::kMostEuclidLevels;
  }
};

// `counts`: ranks x experts, slots of every rank for every expert. Experts that are lost or crowded are
// reported and get no tokens anywhere.
void make_schedule(const PlacementView& placement, const moe::Tokens* counts, moe::DispatchPolicy policy,
                   const ScheduleView& schedule, DeviceReport* report, cudaStream_t stream);

}  // namespace goodput::gpu
