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

namespace goodput {

// Position of an op in evaluation order, 0 .. size()-1.
using OpId = std::uint32_t;

// How far an op waits for others before it transfers.
enum class Sync : std::uint8_t {
  kNone,      // a plain op: starts, lasts, ends
  kLane,      // a group that meets within its own replica of the step (pipeline peers)
  kReplicas,  // a group that also meets its copies in all data-parallel replicas of the step
};

// The graph in the caller's numbering, 0 .. op_count-1, before it is checked.
struct OpGraphSpec {
  struct Group {
    std::vector<std::uint32_t> members;
    Sync sync = Sync::kLane;
  };
  std::size_t op_count = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      edges;                  // (predecessor, successor); repeats are harmless
  std::vector<Group> groups;  // an op is in one group at most
};

class OpGraph {
 public:
  // A plain op or a whole group: ops first .. first+count-1.
  struct Unit {
    OpId first = 0;
    std::uint32_t count = 1;
    Sync sync = Sync::kNone;
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
  [[nodiscard]] bool is_grouped(OpId op) const { return units_[unit_of_[op]].sync != Sync::kNone; }

 private:
  OpGraph() = default;

  std::vector<Unit> units_;
  std::vector<std::uint32_t> unit_of_;
  std::vector<std::uint32_t> caller_index_;
  std::vector<std::size_t> offsets_;  // into predecessors_, size() + 1
  std::vector<OpId> predecessors_;
};

}  // namespace goodput
