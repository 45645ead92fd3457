#include "models/expert_load.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/random.h"

namespace goodput {
namespace {

// Of the tokens, by expert; they add up to 1.
std::vector<double> zipf_shares(std::int32_t experts, double skew, std::int32_t layer, std::uint64_t seed) {
  std::vector<double> shares(static_cast<std::size_t>(experts));
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = std::pow(static_cast<double>(i + 1), -skew);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  RandomStream random(seed, "expert popularity", static_cast<std::uint64_t>(layer));
  for (std::size_t i = shares.size(); i > 1; --i) std::swap(shares[i - 1], shares[random.below(i)]);
  return shares;
}

}  // namespace

std::vector<ExpertShare> expert_shares(const TrainingPlan& plan, const ExpertShare& balanced,
                                       std::int32_t layer, std::uint64_t seed) {
  if (plan.expert_load.skew == 0 || plan.parallel.ep == 1) return {balanced};
  const std::int32_t experts = plan.model.moe->experts;
  const std::vector<double> by_expert = zipf_shares(experts, plan.expert_load.skew, layer, seed);
  const auto ranks = static_cast<std::size_t>(plan.parallel.ep);
  const std::size_t local = by_expert.size() / ranks;
  std::vector<ExpertShare> shares(ranks);
  double busiest = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto first = by_expert.begin() + static_cast<std::ptrdiff_t>(rank * local);
    const double share = std::accumulate(first, first + static_cast<std::ptrdiff_t>(local), 0.0);
    shares[rank].tokens = balanced.tokens * share * static_cast<double>(ranks);
    busiest = std::max(busiest, shares[rank].tokens);
  }
  for (ExpertShare& share : shares) share.imbalance = busiest / balanced.tokens;
  return shares;
}

}  // namespace goodput
