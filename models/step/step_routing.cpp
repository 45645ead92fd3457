#include "models/step/step_routing.h"

#include <algorithm>
#include <numeric>

#include "models/routing/zipf_shares.h"

namespace goodput {

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
