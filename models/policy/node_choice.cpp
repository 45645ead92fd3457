#include "models/policy/node_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/errors.h"

namespace goodput {
namespace {

bool is_in(std::span<const NodeId> nodes, NodeId node) {
  return std::binary_search(nodes.begin(), nodes.end(), node);
}
bool any_in(std::span<const NodeId> nodes, std::span<const NodeId> used) {
  return std::any_of(nodes.begin(), nodes.end(), [used](NodeId node) { return is_in(used, node); });
}

// Those of the next rank, behind the ones that are chosen already; all ascend.
void merge_from(std::ptrdiff_t begin, std::vector<NodeId>& chosen) {
  std::inplace_merge(chosen.begin(), chosen.begin() + begin, chosen.end());
}

template <typename IsNext>
void take_kept(const Membership& members, std::span<const NodeId> kept, std::size_t wanted,
               const IsNext& is_next, std::vector<NodeId>& chosen) {
  const auto before = std::ssize(chosen);
  for (auto node = kept.begin(); node != kept.end() && chosen.size() < wanted; ++node) {
    if (members.contains(*node) && is_next(*node)) chosen.push_back(*node);
  }
  merge_from(before, chosen);
}

template <typename IsNext>
void take_others(const Membership& members, std::span<const NodeId> kept, std::size_t wanted,
                 const IsNext& is_next, std::vector<NodeId>& chosen) {
  if (chosen.size() == wanted) return;
  const auto before = std::ssize(chosen);
  NodeSet others = members.nodes();
  others.erase(kept);
  for (const NodeId node : others) {
    if (is_next(node)) chosen.push_back(node);
    if (chosen.size() == wanted) break;
  }
  merge_from(before, chosen);
}

}  // namespace

config::Fields config_fields(SlowNodeRule& rule) {
  using config::Need;
  return {{"action", Need::kOptional, config::choice(rule.action, kSlowNodeActionNames),
           "keep: all nodes wait for a slow node; evict: a slow node is treated as failed; swap: an idle "
           "healthy node replaces a slow node"},
          {"threshold", Need::kOptional, config::number(rule.threshold, config::kFraction),
           "fraction of a healthy node's speed below which a node counts as slow",
           [&rule] { return rule.action == SlowNodeAction::kKeep ? "action is \"keep\"" : ""; }}};
}

std::string nodes_needed(std::int32_t nodes, bool some_are_evicted) {
  return fmt::format("needs {} nodes{}", nodes, some_are_evicted ? " that are not slow" : "");
}

ChangeImpact impact_of(const NodeChange& change, std::span<const NodeId> used) {
  ChangeImpact impact;
  impact.loses = any_in(change.lost, used);
  impact.slows = any_in(change.changed_speed, used);
  impact.offers =
      !change.joined.empty() || std::any_of(change.changed_speed.begin(), change.changed_speed.end(),
                                            [used](NodeId node) { return !is_in(used, node); });
  return impact;
}

bool NodeChoice::may_use(const Membership& members, NodeId node) const {
  return members.contains(node) && (rule_.action != SlowNodeAction::kEvict || !is_slow(members, node));
}

std::int32_t NodeChoice::available(const Membership& members) const {
  if (rule_.action != SlowNodeAction::kEvict) return members.count();
  return members.count() - members.count_slower(rule_.threshold);
}

// Each of the lists it takes nodes from ascends.
void NodeChoice::choose(const Membership& members, std::int32_t count, std::span<const NodeId> kept,
                        std::vector<NodeId>& chosen) const {
  GOODPUT_CHECK(count <= available(members), "more nodes chosen than are available");
  if (count == members.count()) return chosen.assign(members.nodes().begin(), members.nodes().end());
  chosen.clear();
  chosen.reserve(static_cast<std::size_t>(count));
  const auto wanted = static_cast<std::size_t>(count);
  const bool prefers_healthy =
      rule_.action != SlowNodeAction::kKeep && members.count_slower(rule_.threshold) > 0;
  for (const bool slow : {false, true}) {
    const auto is_next = [&](NodeId node) { return !prefers_healthy || is_slow(members, node) == slow; };
    take_kept(members, kept, wanted, is_next, chosen);
    take_others(members, kept, wanted, is_next, chosen);
    if (!prefers_healthy) break;
  }
}

}  // namespace goodput
