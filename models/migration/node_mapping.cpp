#include "models/migration/node_mapping.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "sim/base/errors.h"
#include "sim/base/index.h"
#include "sim/base/target_clones.h"

namespace goodput {
namespace {

constexpr std::int32_t kFree = -1;
constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 2;

// Of each row of `words` words that is wanted, the bits that are not held.
GOODPUT_TARGET_CLONES("popcnt", "default")
void count_missing(const std::uint64_t* wanted, const std::uint64_t* held, std::size_t words,
                   std::size_t rows, std::int32_t* missing) {
  for (std::size_t row = 0; row < rows; ++row) {
    std::int64_t count = 0;
    for (std::size_t w = 0; w < words; ++w) count += __builtin_popcountll(wanted[row * words + w] & ~held[w]);
    missing[row] = static_cast<std::int32_t>(count);
  }
}

struct Pair {
  std::int32_t cost, physical, plan;
};

std::vector<Pair> cheapest_first(const MappingCosts& costs) {
  std::vector<Pair> pairs;
  pairs.reserve(costs.costs.size());
  for (std::int32_t p = 0; p < costs.physical; ++p) {
    for (std::int32_t q = 0; q < costs.plan; ++q) pairs.push_back({costs.at(p, q), p, q});
  }
  // Pairs stand in the order that decides between equal costs.
  std::ranges::stable_sort(pairs, {}, &Pair::cost);
  return pairs;
}

// Adds the nodes of the plan one by one, each along a cheapest chain of displacements: the new one takes a
// physical node from its holder, which takes another's, up to a free one. Prices keep all reduced costs
// cost - price_of_plan - price_of_physical at or above zero, so that Dijkstra's method finds the chain.
class AugmentingAssignment {
 public:
  explicit AugmentingAssignment(const MappingCosts& costs)
      : costs_(costs),
        plan_price_(static_cast<std::size_t>(costs.plan)),
        physical_price_(static_cast<std::size_t>(costs.physical)),
        holder_(static_cast<std::size_t>(costs.physical), kFree),
        place_(static_cast<std::size_t>(costs.plan), kFree) {}

  void add(std::int32_t plan_node) {
    distance_.assign(holder_.size(), kFar);
    from_.assign(holder_.size(), plan_node);
    settled_.assign(holder_.size(), 0);
    std::int32_t reached = kFree;
    std::int64_t length = 0;
    for (std::int32_t q = plan_node; q != kFree; q = holder_[index(reached)]) {
      relax(q, length);
      reached = nearest_unsettled();
      length = distance_[index(reached)];
      settled_[index(reached)] = 1;
    }
    raise_prices(plan_node, length);
    displace(reached);
  }

  // By node of the plan; kFree for those not yet added.
  [[nodiscard]] const std::vector<std::int32_t>& places() const { return place_; }

 private:
  // `length` is that of the shortest chain in which q is left without its physical node.
  void relax(std::int32_t q, std::int64_t length) {
    for (std::int32_t p = 0; p < costs_.physical; ++p) {
      if (settled_[index(p)] != 0) continue;
      const std::int64_t through =
          length + costs_.at(p, q) - plan_price_[index(q)] - physical_price_[index(p)];
      if (through >= distance_[index(p)]) continue;
      distance_[index(p)] = through;
      from_[index(p)] = q;
    }
  }

  [[nodiscard]] std::int32_t nearest_unsettled() const {
    std::int32_t nearest = kFree;
    for (std::int32_t p = 0; p < costs_.physical; ++p) {
      if (settled_[index(p)] != 0) continue;
      if (nearest == kFree || distance_[index(p)] < distance_[index(nearest)]) nearest = p;
    }
    return nearest;
  }

  // Pairs of the chain come to a reduced cost of zero; no other falls below it.
  void raise_prices(std::int32_t plan_node, std::int64_t length) {
    plan_price_[index(plan_node)] += length;
    for (std::size_t p = 0; p < holder_.size(); ++p) {
      if (settled_[p] == 0) continue;
      const std::int64_t slack = length - distance_[p];
      physical_price_[p] -= slack;
      if (holder_[p] != kFree) plan_price_[index(holder_[p])] += slack;
    }
  }

  // Backwards from the free node: every node of the plan on the chain takes the next physical node and leaves
  // its own to the one before it.
  void displace(std::int32_t reached) {
    for (std::int32_t p = reached; p != kFree;) {
      const std::int32_t taker = from_[index(p)];
      holder_[index(p)] = taker;
      std::swap(p, place_[index(taker)]);
    }
  }

  const MappingCosts& costs_;
  std::vector<std::int64_t> plan_price_, physical_price_;
  std::vector<std::int32_t> holder_;  // by physical node: the node of the plan that has it, or kFree
  std::vector<std::int32_t> place_;   // by node of the plan: the physical node it has
  // Of the search, by physical node: length of the shortest chain that ends in it, the node of the plan that
  // would take it, whether the length is final.
  std::vector<std::int64_t> distance_;
  std::vector<std::int32_t> from_;
  std::vector<std::uint8_t> settled_;
};

// Of layers that stand for several.
void count_missing_of_classes(const NodeExperts& held, const NodeExperts& plan, MappingCosts& result) {
  const std::vector<std::int32_t> sizes = held.classes().sizes();
  for (std::int32_t p = 0; p < held.nodes(); ++p) {
    for (std::int32_t q = 0; q < plan.nodes(); ++q) {
      std::int32_t& cost = result.costs[index(p) * index(plan.nodes()) + index(q)];
      for (std::int32_t layer = 0; layer < held.layers(); ++layer) {
        const std::span<const std::uint64_t> of_p = held.layer(p, layer);
        std::int32_t missing = 0;
        count_missing(plan.layer(q, layer).data(), of_p.data(), of_p.size(), 1, &missing);
        cost += missing * sizes[index(layer)];
      }
    }
  }
}

}  // namespace

MappingCosts newly_assigned_experts(const NodeExperts& held, const NodeExperts& plan) {
  GOODPUT_CHECK(plan.nodes() <= held.nodes(), "the plan must not have more nodes than are alive");
  return missing_experts(held, plan);
}

MappingCosts missing_experts(const NodeExperts& held, const NodeExperts& plan) {
  GOODPUT_CHECK(plan.experts() == held.experts() && plan.classes() == held.classes(),
                "the plan must be for the layers and experts that nodes hold");
  MappingCosts result{held.nodes(), plan.nodes(), {}};
  const auto rows = static_cast<std::size_t>(plan.nodes());
  if (rows == 0) return result;
  result.costs.resize(static_cast<std::size_t>(held.nodes()) * rows);
  if (held.classes().classes() < held.classes().layers()) {
    count_missing_of_classes(held, plan, result);
    return result;
  }
  for (std::int32_t p = 0; p < held.nodes(); ++p) {
    const std::span<const std::uint64_t> of_p = held.node(p);
    count_missing(plan.node(0).data(), of_p.data(), of_p.size(), rows, &result.costs[index(p) * rows]);
  }
  return result;
}

NodeMapping greedy_mapping(const MappingCosts& costs) {
  NodeMapping mapping{std::vector(static_cast<std::size_t>(costs.plan), kFree), 0};
  std::vector<std::uint8_t> is_taken(static_cast<std::size_t>(costs.physical));
  for (const Pair& pair : cheapest_first(costs)) {
    std::int32_t& physical = mapping.physical_of[static_cast<std::size_t>(pair.plan)];
    std::uint8_t& taken = is_taken[static_cast<std::size_t>(pair.physical)];
    if (physical != kFree || taken != 0) continue;
    physical = pair.physical;
    taken = 1;
    mapping.cost += pair.cost;
  }
  return mapping;
}

NodeMapping optimal_mapping(const MappingCosts& costs) {
  AugmentingAssignment assignment(costs);
  for (std::int32_t q = 0; q < costs.plan; ++q) assignment.add(q);
  NodeMapping mapping{assignment.places(), 0};
  for (std::int32_t q = 0; q < costs.plan; ++q) {
    mapping.cost += costs.at(mapping.physical_of[static_cast<std::size_t>(q)], q);
  }
  return mapping;
}

NodeMapping map_nodes(const MappingCosts& costs, MappingRule rule) {
  return rule == MappingRule::kGreedy ? greedy_mapping(costs) : optimal_mapping(costs);
}

NodeMapping map_nodes(const NodeExperts& held, const NodeExperts& plan, MappingRule rule) {
  constexpr std::int32_t kFew = 48;  // sorting them by what they hold takes as long as all their pairs
  if (rule == MappingRule::kGreedy && held.nodes() > kFew) return greedy_mapping(held, plan);
  return map_nodes(newly_assigned_experts(held, plan), rule);
}

}  // namespace goodput
