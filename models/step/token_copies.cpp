#include "models/step/token_copies.h"

#include <algorithm>
#include <vector>

namespace goodput {
namespace {

// That none of k out of `pool` things is one of `taken` of them.
double chance_of_none(double pool, double taken, std::int32_t k) {
  double chance = 1;
  for (std::int32_t i = 0; i < k; ++i) chance *= std::max(0.0, pool - taken - i) / (pool - i);
  return chance;
}

// C(n, k), as far as ratios of such numbers need it. 0 where k < 0 or k > n.
double choose(std::int32_t n, std::int32_t k) {
  if (k < 0 || k > n) return 0;
  double ways = 1;
  for (std::int32_t i = 1; i <= k; ++i) ways *= static_cast<double>(n - k + i) / i;
  return ways;
}

// Experts of each group that are in a block.
std::vector<std::int32_t> overlaps(std::int32_t size_of_group, std::int32_t first, std::int32_t end) {
  std::vector<std::int32_t> found;
  for (std::int32_t at = first; at < end;) {
    const std::int32_t next = std::min(end, (at / size_of_group + 1) * size_of_group);
    found.push_back(next - at);
    at = next;
  }
  return found;
}

// That a token goes to no expert in [first, end): over all ways to choose its groups.
double chance_of_none_in(const MoeShape& moe, std::int32_t first, std::int32_t end) {
  const std::int32_t size = moe.experts / moe.expert_groups;
  const std::vector<std::int32_t> parts = overlaps(size, first, end);
  const auto most = static_cast<std::size_t>(std::min<std::int64_t>(moe.top_groups, std::ssize(parts)));
  const auto experts = static_cast<std::size_t>(end - first);
  // ways[chosen][covered]: of the parts seen, with so many experts of the block in the chosen groups.
  std::vector<std::vector<double>> ways(most + 1, std::vector<double>(experts + 1));
  ways[0][0] = 1;
  for (const std::int32_t part : parts) {
    for (std::size_t chosen = most; chosen > 0; --chosen) {
      for (auto covered = static_cast<std::size_t>(part); covered <= experts; ++covered)
        ways[chosen][covered] += ways[chosen - 1][covered - static_cast<std::size_t>(part)];
    }
  }
  const std::int32_t others = moe.expert_groups - static_cast<std::int32_t>(parts.size());
  double none = 0;
  for (std::size_t chosen = 0; chosen <= most; ++chosen) {
    const double rest = choose(others, moe.top_groups - static_cast<std::int32_t>(chosen));
    for (std::size_t covered = 0; covered <= experts && rest > 0; ++covered) {
      if (ways[chosen][covered] == 0) continue;
      none +=
          ways[chosen][covered] * rest *
          chance_of_none(static_cast<double>(moe.top_groups) * size, static_cast<double>(covered), moe.top_k);
    }
  }
  return none / choose(moe.expert_groups, moe.top_groups);
}

// Of GPUs side by side; with replicas as if these were other experts.
std::int32_t experts_on(const BlockScope& scope, std::int32_t gpus) {
  return static_cast<std::int32_t>(std::min<double>(gpus * scope.held_experts(), scope.model.moe->experts));
}

}  // namespace

double chance_of_block(const MoeShape& moe, std::int32_t block) {
  if (moe.expert_groups == 0) return 1 - chance_of_none(moe.experts, block, moe.top_k);
  double none = 0;
  std::int32_t blocks = 0;
  for (std::int32_t first = 0; first + block <= moe.experts; first += block, ++blocks)
    none += chance_of_none_in(moe, first, first + block);
  return 1 - none / blocks;
}

namespace {

// On GPUs side by side. If the experts of a group are anywhere, those of a token are as likely as any others.
double chance_of_gpus(const BlockScope& scope, std::int32_t gpus) {
  MoeShape moe = *scope.model.moe;
  if (scope.slots.scatter_groups) moe.expert_groups = moe.top_groups = 0;
  return chance_of_block(moe, experts_on(scope, gpus));
}

}  // namespace

double gpus_of_token(const BlockScope& scope) {
  return scope.plan.ep * chance_of_gpus(scope, 1);
}

double other_nodes_of_token(const BlockScope& scope, const GpuGroup& group) {
  if (group.nodes() == 1) return 0;
  return (group.nodes() - 1) * chance_of_gpus(scope, group.per_node);
}

}  // namespace goodput
