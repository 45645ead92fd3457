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

std::size_t Membership::position(NodeId node) const {
  return static_cast<std::size_t>(std::lower_bound(ids_.begin(), ids_.end(), node) - ids_.begin());
}

bool Membership::contains(NodeId node) const {
  const std::size_t at = position(node);
  return at < ids_.size() && ids_[at] == node;
}

double Membership::speed(NodeId node) const {
  GOODPUT_CHECK(contains(node), "the speed of a node that is not there");
  return speeds_[position(node)];
}

double Membership::slowest(std::span<const NodeId> nodes) const {
  double least = 1;
  if (slowed_ == 0) return least;
  for (const NodeId node : nodes) least = std::min(least, speed(node));
  return least;
}

NodeTime Membership::node_time(SimTime now) const {
  return come_and_gone_ + static_cast<NodeTime>(ids_.size()) * now.time_since_epoch().count();
}

void Membership::apply(const NodeEvent& event, NodeChange& change) {
  const std::size_t at = position(event.node);
  const auto offset = static_cast<std::ptrdiff_t>(at);
  const bool is_there = at < ids_.size() && ids_[at] == event.node;
  GOODPUT_CHECK(is_there != (event.kind == NodeEvent::Kind::kAdd),
                "a node was added twice, or is not there to be removed");
  switch (event.kind) {
    case NodeEvent::Kind::kAdd:
      ids_.insert(ids_.begin() + offset, event.node);
      speeds_.insert(speeds_.begin() + offset, 1.0);
      come_and_gone_ -= event.time.time_since_epoch().count();
      insert_sorted(change.joined, event.node);
      return;
    case NodeEvent::Kind::kRemove:
      if (speeds_[at] != 1) --slowed_;
      ids_.erase(ids_.begin() + offset);
      speeds_.erase(speeds_.begin() + offset);
      come_and_gone_ += event.time.time_since_epoch().count();
      insert_sorted(change.lost, event.node);
      return;
    case NodeEvent::Kind::kSpeed:
      GOODPUT_CHECK(event.speed > 0 && event.speed <= 1, "the speed of a node is not in (0, 1]");
      slowed_ += static_cast<std::int32_t>(event.speed != 1) - static_cast<std::int32_t>(speeds_[at] != 1);
      speeds_[at] = event.speed;
      if (is_among(change.joined, event.node) || is_among(change.changed_speed, event.node)) return;
      insert_sorted(change.changed_speed, event.node);
      return;
  }
}

}  // namespace goodput
