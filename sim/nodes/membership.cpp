#include "sim/nodes/membership.h"

#include <algorithm>

#include "sim/base/errors.h"

namespace goodput {
namespace {

void insert_sorted(std::vector<NodeId>& ids, NodeId node) {
  ids.insert(std::upper_bound(ids.begin(), ids.end(), node), node);
}

bool is_among(const std::vector<NodeId>& ids, NodeId node) {
  return std::binary_search(ids.begin(), ids.end(), node);
}

}  // namespace

double Membership::speed(NodeId node) const {
  GOODPUT_CHECK(contains(node), "the node does not exist");
  if (slow_.empty()) return 1;
  const auto slow = slow_.find(node);
  return slow == slow_.end() ? 1 : slow->second;
}

double Membership::slowest(std::span<const NodeId> nodes) const {
  double least = 1;
  if (slow_.empty()) return least;
  for (const NodeId node : nodes) least = std::min(least, speed(node));
  return least;
}

double Membership::slowest() const {
  double least = 1;
  for (const auto& [node, speed] : slow_) least = std::min(least, speed);
  return least;
}

std::int32_t Membership::count_slower(double speed) const {
  return static_cast<std::int32_t>(
      std::count_if(slow_.begin(), slow_.end(), [speed](const auto& slow) { return slow.second < speed; }));
}

NodeTime Membership::node_time(SimTime now) const {
  return come_and_gone_ + static_cast<NodeTime>(nodes_.size()) * now.time_since_epoch().count();
}

void Membership::apply(const NodeEvent& event, NodeChange& change) {
  GOODPUT_CHECK(contains(event.node) != (event.kind == NodeEvent::Kind::kAdd),
                "a node was added twice, or an event concerns a node that does not exist");
  switch (event.kind) {
    case NodeEvent::Kind::kAdd:
      nodes_.insert(event.node);
      come_and_gone_ -= event.time.time_since_epoch().count();
      insert_sorted(change.joined, event.node);
      return;
    case NodeEvent::Kind::kRemove:
      nodes_.erase(event.node);
      slow_.erase(event.node);
      come_and_gone_ += event.time.time_since_epoch().count();
      insert_sorted(change.lost, event.node);
      return;
    case NodeEvent::Kind::kSpeed:
      GOODPUT_CHECK(event.speed > 0 && event.speed <= 1, "the speed of a node must be above 0 and at most 1");
      if (event.speed == 1)
        slow_.erase(event.node);
      else
        slow_[event.node] = event.speed;
      if (is_among(change.joined, event.node) || is_among(change.changed_speed, event.node)) return;
      insert_sorted(change.changed_speed, event.node);
      return;
  }
}

}  // namespace goodput
