// Which physical node takes which place in a new placement: an assignment problem over the pairs' costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/migration/node_experts.h"

namespace goodput {

// What it costs that physical node p becomes node q of the new placement.
struct MappingCosts {
  std::int32_t physical = 0;
  std::int32_t plan = 0;              // at most `physical`; who is left over stays idle
  std::vector<std::int32_t> costs{};  // physical x plan

  [[nodiscard]] std::int32_t at(std::int32_t p, std::int32_t q) const {
    return costs[static_cast<std::size_t>(p) * static_cast<std::size_t>(plan) + static_cast<std::size_t>(q)];
  }
};

// The experts, summed over layers, that q has in the new placement and p does not hold yet. How many replicas
// of an expert a node has does not matter: weights are fetched once and copied within the node.
[[nodiscard]] MappingCosts newly_assigned_experts(const NodeExperts& held, const NodeExperts& plan);

// The same where the plan may have more nodes than are alive.
[[nodiscard]] MappingCosts missing_experts(const NodeExperts& held, const NodeExperts& plan);

struct NodeMapping {
  std::vector<std::int32_t> physical_of{};  // by node of the new placement; all distinct
  std::int64_t cost = 0;                    // the sum over its pairs
};

enum class MappingRule : std::uint8_t {
  kGreedy,   // Lazarus (arXiv 2407.04656)
  kOptimal,  // never costs more
};
inline constexpr std::string_view kMappingRuleNames[] = {"greedy", "optimal"};

// Takes the cheapest pair whose nodes are both free, again and again; of equally cheap ones that with the
// lowest physical node, then with the lowest node of the new placement. O(n^2 log n).
[[nodiscard]] NodeMapping greedy_mapping(const MappingCosts& costs);

// Of newly_assigned_experts(), the same mapping without all its pairs: in a large cluster many nodes hold the
// same experts, and cost the same. O(n log n + k^2 log k) with k different ones, besides their costs.
[[nodiscard]] NodeMapping greedy_mapping(const NodeExperts& held, const NodeExperts& plan);

// The least sum of costs, by shortest augmenting paths (Kuhn's Hungarian method as improved by Jonker and
// Volgenant, 1987). O(n^3); which of several best mappings is fixed, but not by a simple rule.
[[nodiscard]] NodeMapping optimal_mapping(const MappingCosts& costs);

[[nodiscard]] NodeMapping map_nodes(const MappingCosts& costs, MappingRule rule);
[[nodiscard]] NodeMapping map_nodes(const NodeExperts& held, const NodeExperts& plan, MappingRule rule);

}  // namespace goodput
