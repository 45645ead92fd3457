// The nodes that are there at a moment, and how fast they run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/nodes/failure_model.h"

namespace goodput {

// What happened at one moment; ids ascend. A node that was lost and came back at the same moment is in both
// lists: it holds nothing any more.
struct NodeChange {
  std::vector<NodeId> lost{};
  std::vector<NodeId> joined{};
  std::vector<NodeId> changed_speed{};  // of those that stayed

  void clear() {
    lost.clear();
    joined.clear();
    changed_speed.clear();
  }
};

// Takes memory with the nodes that are there, not with those that ever were.
class Membership {
 public:
  // Ids ascend.
  [[nodiscard]] std::span<const NodeId> nodes() const { return ids_; }
  [[nodiscard]] std::int32_t count() const { return static_cast<std::int32_t>(ids_.size()); }
  [[nodiscard]] bool contains(NodeId node) const;

  // 1 for healthy nodes. REQUIRES: contains(node).
  [[nodiscard]] double speed(NodeId node) const;
  // Of these nodes, all of which are there; 1 for none.
  [[nodiscard]] double slowest(std::span<const NodeId> nodes) const;

  // Node-nanoseconds up to `now`, from the moments at which nodes came and went alone.
  [[nodiscard]] NodeTime node_time(SimTime now) const;

  // REQUIRES: an event that fits (FailureModel::next) and is not before any earlier one. Also notes it in
  // `change`.
  void apply(const NodeEvent& event, NodeChange& change);

 private:
  [[nodiscard]] std::size_t position(NodeId node) const;

  std::vector<NodeId> ids_;
  std::vector<double> speeds_;  // by position in ids_
  std::int32_t slowed_ = 0;     // nodes with another speed than 1
  NodeTime come_and_gone_ = 0;  // sum of the times of leaving, less that of the times of joining
};

}  // namespace goodput
