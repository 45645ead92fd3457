// What collectives are measured: which, among how many ranks, on how many bytes. Host only: what a visit does
// is passed in (collective_nccl.h).
//
// bytes: the whole buffer on one GPU, as nccl-tests count: of all_gather what is received, of reduce_scatter
// what is sent. Numbers are fp32, as nccl-tests have them by default.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

enum class CollectiveOp : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,  // a send and a receive for every rank, the own one included, in one group
  kSendRecv,  // to the next rank, from the one before
};
inline constexpr CollectiveOp kCollectiveOps[] = {CollectiveOp::kAllReduce, CollectiveOp::kAllGather,
                                                  CollectiveOp::kReduceScatter, CollectiveOp::kAllToAll,
                                                  CollectiveOp::kSendRecv};
// Of the calibration file: "all_reduce"
[[nodiscard]] const char* name_of(CollectiveOp op);
// Bus bandwidth over bytes / time, as nccl-tests define it.
[[nodiscard]] double bus_factor(CollectiveOp op, std::int32_t ranks);

// Ranks 0 to ranks - 1 of those there are.
struct CollectiveGroup {
  std::int32_t ranks;
  std::optional<std::int32_t> per_node;  // none: all are in one node
};

struct CollectivePoint {
  CollectiveOp op;
  CollectiveGroup group;
  std::int64_t bytes;
};
[[nodiscard]] PointKey key_of(const CollectivePoint& point);

struct CollectiveGroups {
  std::vector<CollectiveGroup> groups;  // 2, 4, 8, ... ranks
  std::vector<std::string> notes;       // what was left out, and why
};
// `hosts`: of every rank. Left out are groups with more ranks in one node than in another.
[[nodiscard]] CollectiveGroups collective_groups(const std::vector<std::string>& hosts);

// 512 bytes to 1 GiB, each four times the one before; what leaves 16 bytes or more for every rank.
[[nodiscard]] std::vector<std::int64_t> collective_bytes(Sizes sizes, std::int32_t ranks);

using CollectiveVisit = std::function<Visit(const CollectivePoint&, Checking)>;

// "collectives". The measurer that its points are given is not used: a rank has one for every group that it
// is in. `visit` may be empty where nothing is visited.
[[nodiscard]] Sweep collective_sweep(Sizes sizes, const std::vector<CollectiveGroup>& groups,
                                     const CollectiveVisit& visit);

}  // namespace goodput::gpu::calibrate
