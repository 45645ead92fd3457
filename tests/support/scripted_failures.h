// What happens to the nodes, as a test says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "sim/nodes/failure_model.h"

namespace goodput::testing {

using NodeEvents = std::vector<NodeEvent>;

class ScriptedFailures final : public FailureModel {
 public:
  // The events of a FailureModel, in its order.
  explicit ScriptedFailures(NodeEvents events, std::optional<SimTime> end = std::nullopt)
      : events_(std::move(events)), end_(end) {}

  [[nodiscard]] NodeId nodes() const override {
    NodeId nodes = 0;
    for (const NodeEvent& event : events_) nodes = std::max(nodes, event.node + 1);
    return nodes;
  }
  [[nodiscard]] std::optional<NodeEvent> next() override {
    if (told_ == events_.size()) return std::nullopt;
    return events_[told_++];
  }
  [[nodiscard]] std::optional<SimTime> end() const override { return end_; }

 private:
  NodeEvents events_;
  std::optional<SimTime> end_;
  std::size_t told_ = 0;
};

[[nodiscard]] inline NodeEvent lost(SimDuration at, NodeId node) {
  return {SimTime{at}, NodeEvent::Kind::kRemove, node, 1};
}
[[nodiscard]] inline NodeEvent joined(SimDuration at, NodeId node) {
  return {SimTime{at}, NodeEvent::Kind::kAdd, node, 1};
}
[[nodiscard]] inline NodeEvent slowed(SimDuration at, NodeId node, double speed) {
  return {SimTime{at}, NodeEvent::Kind::kSpeed, node, speed};
}

// Nodes 0 .. nodes-1 from the start, and what happens then.
[[nodiscard]] inline NodeEvents held(NodeId nodes, const NodeEvents& then = {}) {
  NodeEvents events;
  for (NodeId node = 0; node < nodes; ++node) events.push_back(joined(SimDuration{}, node));
  events.insert(events.end(), then.begin(), then.end());
  return events;
}

}  // namespace goodput::testing
