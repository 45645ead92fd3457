#include "models/expert_load.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/random.h"

namespace goodput {
namespace {

// No expert gets a token twice: shares above `most` are cut to it, and what is cut off goes to the others in
// proportion. `shares` descend.
void cap_shares(std::vector<double>& shares, double most) {
  std::vector<double> from_here(shares.size() + 1);  // what the shares from each one on add up to
  for (std::size_t i = shares.size(); i-- > 0;) from_here[i] = from_here[i + 1] + shares[i];
  double left = 1;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    shares[i] = std::min(shares[i] * left / from_here[i], most);
    left -= shares[i];
  }
}

// Of the tokens' copies, by expert; they add up to 1.
std::vector<double> zipf_shares(const MoeShape& moe, double skew, std::int32_t layer, std::uint64_t seed) {
  const std::int32_t experts = moe.experts;
  std::vector<double> shares(static_cast<std::size_t>(experts));
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = std::pow(static_cast<double>(i + 1), -skew);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  cap_shares(shares, 1.0 / moe.top_k);
  RandomStream random(seed, "expert popularity", static_cast<std::uint64_t>(layer));
  for (std::size_t i = shares.size(); i > 1; --i) std::swap(shares[i - 1], shares[random.below(i)]);
  return shares;
}

}  // namespace

std::vector<ExpertShare> expert_shares(const TrainingPlan& plan, const ExpertShare& balanced,
                                       std::int32_t layer, std::uint64_t seed) {
  if (plan.expert_load.skew == 0 || plan.parallel.ep == 1) return {balanced};
  const std::vector<double> by_expert = zipf_shares(*plan.model.moe, plan.expert_load.skew, layer, seed);
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

StepRouting drawn_routing(const TrainingPlan& plan, std::uint64_t seed) {
  const LayerWork work(plan.model, plan.parallel, plan.cluster.gpus_per_node);
  StepRouting routing;
  for (std::int32_t layer = 0; layer < plan.model.layers + plan.model.mtp_layers; ++layer) {
    routing.shares.emplace_back();
    if (work.has_experts(layer))
      routing.shares.back() = expert_shares(plan, work.balanced_share(), layer, seed);
  }
  return routing;
}

}  // namespace goodput
