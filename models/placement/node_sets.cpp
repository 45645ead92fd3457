#include "models/placement/node_sets.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "sim/base/errors.h"

namespace goodput {
bool is_subset(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  for (std::size_t w = 0; w < a.size(); ++w) {
    if ((a[w] & ~b[w]) != 0) return false;
  }
  return true;
}

std::int32_t NodeSets::count(std::size_t set) const {
  std::int32_t count = 0;
  for (const std::uint64_t word : words(set)) count += std::popcount(word);
  return count;
}

void NodeSets::append(std::span<const std::uint64_t> set) {
  GOODPUT_CHECK(set.size() == words_, "sets must be over the same nodes");
  bits_.insert(bits_.end(), set.begin(), set.end());
}

NodeSets expert_nodes(const ExpertPlacement& placement) {
  NodeSets sets(placement.nodes);
  for (std::int32_t e = 0; e < placement.experts; ++e) sets.append_empty();
  for (std::int32_t n = 0; n < placement.nodes; ++n) {
    for (const std::int32_t expert : placement.node(n)) sets.insert(static_cast<std::size_t>(expert), n);
  }
  return sets;
}

NodeSets innermost(const NodeSets& sets) {
  std::vector<std::int32_t> counts(sets.size());
  for (std::size_t s = 0; s < sets.size(); ++s) counts[s] = sets.count(s);
  std::vector<std::size_t> order(sets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return counts[a] < counts[b]; });
  NodeSets kept(sets.nodes());
  for (const std::size_t s : order) {
    bool holds_another = false;
    for (std::size_t k = 0; k < kept.size() && !holds_another; ++k) {
      holds_another = is_subset(kept.words(k), sets.words(s));
    }
    if (!holds_another) kept.append(sets.words(s));
  }
  return kept;
}

NodeSets deciding_sets(std::span<const ExpertPlacement> layers) {
  GOODPUT_CHECK(!layers.empty(), "at least one layer is needed");
  NodeSets all(layers.front().nodes);
  for (const ExpertPlacement& layer : layers) {
    const NodeSets sets = innermost(expert_nodes(layer));
    for (std::size_t s = 0; s < sets.size(); ++s) all.append(sets.words(s));
  }
  return innermost(all);
}

}  // namespace goodput
