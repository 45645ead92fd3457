// An immutable DAG of the operations of one training step, laid out in the order in which they can be
// evaluated.
//
// Ops may form communication groups: no member ends before every member has started. Times are not part of
// the graph: one graph is timed under many duration sets (sim/engine/timing.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/ops/replica_partition.h"

namespace goodput {

// Position of an op in evaluation order, 0 .. size()-1.
using OpId = std::uint32_t;

// The partition of the replicas that a group meets in: an index into the partitions of its graph. These two
// come first; no group has another number for them.
using PartitionId = std::uint32_t;
inline constexpr PartitionId kReplicasApart = 0;     // every replica by itself (pipeline peers)
inline constexpr PartitionId kReplicasTogether = 1;  // all of them (a reduction of gradients)

// The graph in the caller's numbering, 0 .. op_count-1, before it is checked.
struct OpGraphSpec {
  struct Group {
    std::vector<std::uint32_t> members;
    PartitionId partition = kReplicasApart;
  };
  std::size_t op_count = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      edges;                  // (predecessor, successor); repeats are harmless
  std::vector<Group> groups;  // an op is in one group at most
  std::vector<ReplicaPartition> partitions = {ReplicaPartition::apart(), ReplicaPartition::together()};
};

class OpGraph {
 public:
  // A plain op (it starts, lasts, ends) or a whole group: ops first .. first+count-1.
  struct Unit {
    OpId first = 0;
    std::uint32_t count = 1;
    bool is_group = false;                   // what is in no group is kReplicasApart
    PartitionId partition = kReplicasApart;  // of the replicas in which the group meets
  };

  // Orders the ops: by level (longest chain of units in front), then by the caller's number. Fails on a
  // cycle, counting a group as one node, and names its ops. `name_of` names an op of the caller's numbering.
  static Result<OpGraph> build(const OpGraphSpec& spec,
                               const std::function<std::string(std::uint32_t)>& name_of);

  [[nodiscard]] std::size_t size() const { return caller_index_.size(); }

  // In evaluation order: the predecessors of every op of a unit belong to earlier units.
  [[nodiscard]] std::span<const Unit> units() const { return units_; }

  // Ascending, without repeats.
  [[nodiscard]] std::span<const OpId> predecessors(OpId op) const {
    return std::span(predecessors_).subspan(offsets_[op], offsets_[op + 1] - offsets_[op]);
  }

  // The caller's number of an op, for all ops in evaluation order.
  [[nodiscard]] std::span<const std::uint32_t> caller_index() const { return caller_index_; }

  // The unit an op belongs to, for all ops.
  [[nodiscard]] std::span<const std::uint32_t> unit_of() const { return unit_of_; }
  [[nodiscard]] bool is_grouped(OpId op) const { return units_[unit_of_[op]].is_group; }

  // By PartitionId.
  [[nodiscard]] std::span<const ReplicaPartition> partitions() const { return partitions_; }
  [[nodiscard]] const ReplicaPartition& partition_of(const Unit& unit) const {
    return partitions_[unit.partition];
  }
  // Whether it can run in so many replicas.
  [[nodiscard]] bool fits(std::size_t replicas) const;
  // The same graph for other replicas. REQUIRES: as many partitions, the extremes first.
  [[nodiscard]] OpGraph with_partitions(std::vector<ReplicaPartition> partitions) const;

 private:
  OpGraph() = default;

  std::vector<Unit> units_;
  std::vector<std::uint32_t> unit_of_;
  std::vector<std::uint32_t> caller_index_;
  std::vector<std::size_t> offsets_;  // into predecessors_, size() + 1
  std::vector<OpId> predecessors_;
  std::vector<ReplicaPartition> partitions_;
};

}  // namespace goodput
