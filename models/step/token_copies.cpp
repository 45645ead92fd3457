#include "models/step/token_copies.h"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <map>

namespace goodput {
namespace {

// log C(n, k); minus infinity if there is no such choice. n may be a fraction.
double log_choose(double n, double k) {
  using boost::math::lgamma;
  if (k < 0 || n - k < 0) return -std::numeric_limits<double>::infinity();
  return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

// The probability that none of k things drawn from `pool` is among `taken` given ones.
double chance_of_none(double pool, double taken, std::int32_t k) {
  return std::exp(log_choose(pool - taken, k) - log_choose(pool, k));
}

// Groups of experts that a block of consecutive experts covers: whole ones, and parts of one at each end.
struct Cover {
  std::int32_t first = 0;  // experts of the group that it begins in, 0: it begins with a group
  std::int32_t whole = 0;  // groups
  std::int32_t last = 0;

  friend auto operator<=>(const Cover&, const Cover&) = default;
};

Cover cover_of(std::int32_t begin, std::int32_t end, std::int32_t group) {
  const std::int32_t head = (group - begin % group) % group;
  if (head >= end - begin) return {end - begin, 0, 0};  // within one group
  const std::int32_t rest = end - begin - head;
  return {head, rest / group, rest % group};
}

// That a token goes to no expert of a block: over all choices of its groups.
double chance_of_none_in(const MoeShape& moe, const Cover& block) {
  const std::int32_t size = moe.experts / moe.expert_groups;
  const std::int32_t parts = (block.first > 0 ? 1 : 0) + (block.last > 0 ? 1 : 0);
  const std::int32_t others = moe.expert_groups - block.whole - parts;
  const double all = log_choose(moe.expert_groups, moe.top_groups);
  double none = 0;
  for (std::int32_t whole = 0; whole <= std::min(block.whole, moe.top_groups); ++whole) {
    for (const std::int32_t first : {0, 1}) {
      for (const std::int32_t last : {0, 1}) {
        if ((first == 1 && block.first == 0) || (last == 1 && block.last == 0)) continue;
        const double log_ways =
            log_choose(block.whole, whole) + log_choose(others, moe.top_groups - whole - first - last) - all;
        const double covered = static_cast<double>(whole) * size + first * block.first + last * block.last;
        const double pool = static_cast<double>(moe.top_groups) * size;
        none += std::exp(log_ways) * chance_of_none(pool, covered, moe.top_k);
      }
    }
  }
  return none;
}

// That a token goes to one of some GPUs side by side. With replicas, each of its copies goes to one of them,
// so that these GPUs get the share of their number whatever they hold.
double chance_of_gpus(const BlockScope& scope, std::int32_t gpus) {
  const MoeShape& moe = *scope.model.moe;
  const double experts =
      std::min<double>(moe.experts, static_cast<double>(moe.experts) * gpus / scope.plan.ep);
  const bool is_by_group = moe.expert_groups > 0 && !scope.slots.scatter_groups;
  if (is_by_group) return chance_of_block(moe, static_cast<std::int32_t>(experts));
  // If the experts of a group are anywhere, those of a token are as likely as any others.
  return 1 - chance_of_none(moe.experts, experts, moe.top_k);
}

}  // namespace

double chance_of_block(const MoeShape& moe, std::int32_t block) {
  if (moe.expert_groups == 0) return 1 - chance_of_none(moe.experts, block, moe.top_k);
  const std::int32_t size = moe.experts / moe.expert_groups;
  std::map<Cover, std::int32_t> blocks;
  std::int32_t count = 0;
  for (std::int32_t begin = 0; begin + block <= moe.experts; begin += block, ++count)
    ++blocks[cover_of(begin, begin + block, size)];
  double none = 0;
  for (const auto& [cover, times] : blocks) none += times * chance_of_none_in(moe, cover);
  return 1 - none / count;
}

double gpus_of_token(const BlockScope& scope) {
  return scope.plan.ep * chance_of_gpus(scope, 1);
}

double other_nodes_of_token(const BlockScope& scope, const GpuGroup& group) {
  if (group.nodes() == 1) return 0;
  return (group.nodes() - 1) * chance_of_gpus(scope, group.per_node);
}

}  // namespace goodput
