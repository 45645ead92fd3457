// The greedy mapping, kind by kind of node: those that hold the same experts.
#include <algorithm>
#include <numeric>
#include <queue>
#include <span>
#include <utility>

#include "models/migration/node_mapping.h"
#include "sim/base/errors.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

// Nodes that hold the same, each list ascending. They are taken from the front.
class NodeKinds {
 public:
  explicit NodeKinds(const NodeExperts& nodes) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(nodes.nodes()));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&nodes](std::int32_t a, std::int32_t b) {
      return std::ranges::lexicographical_compare(nodes.node(a), nodes.node(b));
    });
    for (const std::int32_t node : order) {
      if (members_.empty() || !std::ranges::equal(nodes.node(members_.back().front()), nodes.node(node)))
        members_.emplace_back();
      members_.back().push_back(node);
    }
    taken_.resize(members_.size());
  }

  [[nodiscard]] std::vector<std::int32_t> one_of_each() const {
    std::vector<std::int32_t> nodes;
    for (const std::vector<std::int32_t>& kind : members_) nodes.push_back(kind.front());
    return nodes;
  }
  [[nodiscard]] bool is_used_up(std::int32_t kind) const {
    return taken_[index(kind)] == members_[index(kind)].size();
  }
  // REQUIRES: !is_used_up(kind).
  [[nodiscard]] std::int32_t first(std::int32_t kind) const {
    return members_[index(kind)][taken_[index(kind)]];
  }
  void take_first(std::int32_t kind) { ++taken_[index(kind)]; }

 private:
  std::vector<std::vector<std::int32_t>> members_;  // by kind
  std::vector<std::size_t> taken_;                  // of each, from the front
};

struct KindPair {
  std::int32_t cost, held, plan;  // kinds
};

std::vector<KindPair> cheapest_kinds_first(const MappingCosts& costs) {
  std::vector<KindPair> pairs;
  for (std::int32_t held = 0; held < costs.physical; ++held) {
    for (std::int32_t plan = 0; plan < costs.plan; ++plan)
      pairs.push_back({costs.at(held, plan), held, plan});
  }
  // Those of one cost stand by the kind that is held.
  std::ranges::stable_sort(pairs, {}, &KindPair::cost);
  return pairs;
}

class KindMapping {
 public:
  KindMapping(const NodeExperts& held, const NodeExperts& plan)
      : held_(held),
        plan_(plan),
        mapping_{std::vector<std::int32_t>(static_cast<std::size_t>(plan.nodes())), 0} {}

  // All pairs of one cost. The lowest physical node that has a partner takes the lowest one.
  void take(std::span<const KindPair> pairs) {
    using Next = std::pair<std::int32_t, std::span<const KindPair>>;  // a node, and the pairs of its kind
    const auto later = [](const Next& a, const Next& b) { return a.first > b.first; };
    std::priority_queue<Next, std::vector<Next>, decltype(later)> next(later);
    for (auto begin = pairs.begin(); begin != pairs.end();) {
      const std::int32_t kind = begin->held;
      const auto end =
          std::find_if(begin, pairs.end(), [kind](const KindPair& pair) { return pair.held != kind; });
      if (!held_.is_used_up(kind)) next.push({held_.first(kind), std::span(begin, end)});
      begin = end;
    }
    while (!next.empty()) {
      const auto [physical, of_kind] = next.top();
      next.pop();
      const KindPair* const partner = lowest_partner(of_kind);
      if (partner == nullptr) continue;
      mapping_.physical_of[index(plan_.first(partner->plan))] = physical;
      mapping_.cost += partner->cost;
      plan_.take_first(partner->plan);
      held_.take_first(partner->held);
      if (!held_.is_used_up(partner->held)) next.push({held_.first(partner->held), of_kind});
    }
  }

  [[nodiscard]] NodeMapping finish() && { return std::move(mapping_); }

 private:
  [[nodiscard]] const KindPair* lowest_partner(std::span<const KindPair> pairs) const {
    const KindPair* lowest = nullptr;
    for (const KindPair& pair : pairs) {
      if (plan_.is_used_up(pair.plan)) continue;
      if (lowest == nullptr || plan_.first(pair.plan) < plan_.first(lowest->plan)) lowest = &pair;
    }
    return lowest;
  }

  NodeKinds held_, plan_;
  NodeMapping mapping_;
};

}  // namespace

NodeMapping greedy_mapping(const NodeExperts& held, const NodeExperts& plan) {
  GOODPUT_CHECK(plan.nodes() <= held.nodes(), "the plan must not have more nodes than are alive");
  const MappingCosts costs =
      missing_experts(held.of(NodeKinds(held).one_of_each()), plan.of(NodeKinds(plan).one_of_each()));
  const std::vector<KindPair> pairs = cheapest_kinds_first(costs);
  KindMapping mapping(held, plan);
  for (auto begin = pairs.begin(); begin != pairs.end();) {
    const std::int32_t cost = begin->cost;
    const auto end =
        std::find_if(begin, pairs.end(), [cost](const KindPair& pair) { return pair.cost != cost; });
    mapping.take(std::span(begin, end));
    begin = end;
  }
  return std::move(mapping).finish();
}

}  // namespace goodput
