// Which replicas of a step feel one that differs from all others in the same way.
//
// When all replicas but one take the same times, most of those others end every op together too: they differ
// only in how far, group by group, they are from the lone one. So a step of a thousand replicas is one of a
// few classes: the lone replica itself; those that share a tensor-parallel group with it; those that are
// reduced with it; those that share a group with one of these; and so on. Replicas are alike if they meet the
// same classes of replicas at every group; how many of each does not matter, since a meeting waits for the
// latest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/ops/replica_partition.h"

namespace goodput {

// Lone replicas whose classes meet in the same way.
struct LoneReplicas {
  std::vector<ReplicaPartition> partitions;  // of the classes; class 0 is the lone replica
  std::size_t classes = 1;
  std::vector<std::uint32_t> replicas;  // each in turn the lone one; ascending
};

// Every replica once. `partitions`: of the replicas, as those of a graph. In a job whose groups are alike for
// all replicas that is one entry.
[[nodiscard]] std::vector<LoneReplicas> lone_replicas(std::span<const ReplicaPartition> partitions,
                                                      std::size_t replicas);

}  // namespace goodput
