#include "models/placement_search/annealing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "sim/base/index.h"

namespace goodput {
namespace {

// Nodes of one set and not of the other.
std::vector<std::int32_t> nodes_of_only(const NodeSets& sets, std::int32_t one, std::int32_t other) {
  std::vector<std::int32_t> nodes;
  for (std::int32_t n = 0; n < sets.nodes(); ++n) {
    if (sets.contains(index(one), n) && !sets.contains(index(other), n)) nodes.push_back(n);
  }
  return nodes;
}

// Any of `nodes`, which no longer has it.
std::int32_t draw_node(std::vector<std::int32_t>& nodes, RandomStream& random) {
  std::swap(nodes[random.below(nodes.size())], nodes.back());
  const std::int32_t node = nodes.back();
  nodes.pop_back();
  return node;
}

}  // namespace

Cooling::Cooling(const Annealing& annealing)
    : temperature_(annealing.from),
      ratio_(std::pow(annealing.to / annealing.from, 1.0 / static_cast<double>(annealing.moves))) {}

bool Cooling::accepts(double worse_by, RandomStream& random) const {
  return worse_by <= 0 || random.uniform() < std::exp(-worse_by / temperature_);
}

SlotState::SlotState(const ExpertPlacement& start)
    : placement_(start), sets_(expert_nodes(start)), held_(index(start.experts) * index(start.nodes)) {
  for (std::size_t slot = 0; slot < start.expert_at.size(); ++slot) ++held(expert(slot), node_of(slot));
}

std::int32_t& SlotState::held(std::int32_t expert, std::int32_t node) {
  return held_[index(expert) * index(placement_.nodes) + index(node)];
}

void SlotState::put(std::int32_t expert, std::int32_t node) {
  if (held(expert, node)++ == 0) sets_.insert(index(expert), node);
}

void SlotState::take(std::int32_t expert, std::int32_t node) {
  if (--held(expert, node) == 0) sets_.erase(index(expert), node);
}

std::size_t SlotState::slot_of(std::int32_t expert, std::int32_t node) const {
  const auto begin = placement_.expert_at.begin() + std::ptrdiff_t{node} * placement_.slots;
  return static_cast<std::size_t>(std::find(begin, begin + placement_.slots, expert) -
                                  placement_.expert_at.begin());
}

void SlotState::swap(std::size_t a, std::size_t b) {
  const std::int32_t from_a = expert(a);
  replace(a, expert(b));
  replace(b, from_a);
}

void SlotState::replace(std::size_t slot, std::int32_t by_expert) {
  take(expert(slot), node_of(slot));
  put(by_expert, node_of(slot));
  placement_.expert_at[slot] = by_expert;
}

std::optional<SlotSwap> draw_swap(const SlotState& state, std::size_t unit, RandomStream& random) {
  const SlotSwap swap{random.below(state.slots()), random.below(state.slots())};
  if (swap.a / unit == swap.b / unit || state.expert(swap.a) == state.expert(swap.b)) return std::nullopt;
  return swap;
}

std::vector<SlotSwap> draw_exchange(const SlotState& state, RandomStream& random) {
  const auto experts = static_cast<std::uint64_t>(state.experts());
  const auto x = static_cast<std::int32_t>(random.below(experts));
  const auto y = static_cast<std::int32_t>(random.below(experts));
  std::vector<std::int32_t> of_x = nodes_of_only(state.nodes_of_experts(), x, y);
  std::vector<std::int32_t> of_y = nodes_of_only(state.nodes_of_experts(), y, x);
  const std::size_t most = std::min(of_x.size(), of_y.size());
  std::vector<SlotSwap> swaps;
  if (most == 0) return swaps;
  for (std::size_t left = 1 + random.below(most); left > 0; --left) {
    swaps.push_back({state.slot_of(x, draw_node(of_x, random)), state.slot_of(y, draw_node(of_y, random))});
  }
  return swaps;
}

ExpertPlacement with_slots(const ExpertPlacement& like, std::vector<std::int32_t> expert_at) {
  ExpertPlacement placement = like;
  placement.expert_at = std::move(expert_at);
  for (std::int32_t n = 0; n < placement.nodes; ++n) {
    const auto node = placement.node(n);
    std::sort(node.begin(), node.end());
  }
  return placement;
}

}  // namespace goodput
