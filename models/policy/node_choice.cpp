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

}  // namespace

config::Fields config_fields(SlowNodeRule& rule) {
  using config::Need;
  return {{"action", Need::kOptional, config::choice(rule.action, kSlowNodeActionNames),
           "keep: all wait for it; evict: as if it had failed; swap: for an idle healthy node"},
          {"threshold", Need::kOptional, config::number(rule.threshold, config::kFraction),
           "speed, of a healthy node's, below which a node counts as slow",
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
  if (rule_.action != SlowNodeAction::kEvict || members.slowest(members.nodes()) >= rule_.threshold)
    return members.count();
  return static_cast<std::int32_t>(std::count_if(members.nodes().begin(), members.nodes().end(),
                                                 [&](NodeId node) { return may_use(members, node); }));
}

void NodeChoice::choose(const Membership& members, std::int32_t count, std::span<const NodeId> kept,
                        std::vector<NodeId>& chosen) const {
  GOODPUT_CHECK(count <= available(members), "more nodes are chosen than there are");
  chosen.assign(members.nodes().begin(), members.nodes().end());
  if (count == members.count()) return;
  std::stable_partition(chosen.begin(), chosen.end(), [kept](NodeId node) { return is_in(kept, node); });
  if (rule_.action != SlowNodeAction::kKeep && members.slowest(members.nodes()) < rule_.threshold)
    std::stable_partition(chosen.begin(), chosen.end(), [&](NodeId node) { return !is_slow(members, node); });
  chosen.resize(static_cast<std::size_t>(count));
  std::sort(chosen.begin(), chosen.end());
}

}  // namespace goodput
