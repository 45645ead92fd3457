// The nodes that are there at a moment, and how fast they run.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/nodes/failure_model.h"
#include "sim/nodes/node_set.h"

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

// A change takes the same time however many nodes there are; slow ones cost as much as a map of them.
class Membership {
 public:
  // Ids ascend.
  [[nodiscard]] const NodeSet& nodes() const { return nodes_; }
  [[nodiscard]] std::int32_t count() const { return static_cast<std::int32_t>(nodes_.size()); }
  [[nodiscard]] bool contains(NodeId node) const { return nodes_.contains(node); }

  // 1 for healthy nodes. REQUIRES: contains(node).
  [[nodiscard]] double speed(NodeId node) const;
  // Of these nodes, all of which are there; 1 for none.
  [[nodiscard]] double slowest(std::span<const NodeId> nodes) const;
  // Of all nodes.
  [[nodiscard]] double slowest() const;
  // How many are slower than that. REQUIRES: speed <= 1.
  [[nodiscard]] std::int32_t count_slower(double speed) const;

  // Node-nanoseconds up to `now`, from the moments at which nodes came and went alone.
  [[nodiscard]] NodeTime node_time(SimTime now) const;

  // REQUIRES: an event that fits (FailureModel::next) and is not before any earlier one. Also notes it in
  // `change`.
  void apply(const NodeEvent& event, NodeChange& change);

 private:
  NodeSet nodes_;
  std::map<NodeId, double> slow_;  // speeds other than 1
  NodeTime come_and_gone_ = 0;     // sum of the times of leaving, less that of the times of joining
};

}  // namespace goodput
