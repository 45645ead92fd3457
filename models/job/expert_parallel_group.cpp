#include "models/job/expert_parallel_group.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/job/placed_load.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

std::vector<std::int32_t> slots_of(const ExpertParallelGroup& group, std::size_t layer,
                                   std::int32_t experts) {
  if (!group.layers.empty()) return group.layers[layer].expert_at;
  std::vector<std::int32_t> in_order(index(experts));
  std::iota(in_order.begin(), in_order.end(), 0);
  return in_order;
}

// Of so many groups one after the other.
Result<moe::ExpertHosts> hosts_of_groups(const ExpertParallelGroup& group, std::size_t layer,
                                         std::int32_t experts, std::int32_t groups) {
  const std::vector<std::int32_t> one = slots_of(group, layer, experts);
  std::vector<std::int32_t> all;
  for (std::int32_t i = 0; i < groups; ++i) all.insert(all.end(), one.begin(), one.end());
  return moe::ExpertHosts::from_slots(group.gpus * groups, experts, group.slots_per_gpu(experts), all);
}

}  // namespace

Result<moe::ExpertHosts> ExpertParallelGroup::hosts(std::size_t layer, std::int32_t experts) const {
  return hosts_of_groups(*this, layer, experts, 1);
}

std::int32_t ExpertParallelGroup::gpus_together(std::int32_t gpus_per_node) const {
  return std::gcd(gpus, gpus_per_node);
}

ExpertShare padded_share(const moe::ExpertHosts& hosts, std::span<const std::int64_t> tokens,
                         std::int64_t ranks, double mean) {
  std::int64_t capacity = 0;
  std::int64_t slots = 0;
  for (std::int32_t e = 0; e < hosts.experts(); ++e) {
    const std::int64_t shared = ranks * hosts.replicas_of(e);
    capacity = std::max(capacity, (tokens[index(e)] + shared - 1) / shared);
    slots += hosts.replicas_of(e);
  }
  const double rows = static_cast<double>(capacity) * static_cast<double>(slots);
  return {rows, rows / mean};
}

Result<std::vector<ReplicaGroup>> replicas_of_groups(const ExpertParallelGroup& group, std::int32_t experts,
                                                     std::int64_t groups, std::int32_t gpus_per_node) {
  const std::int32_t filling = gpus_per_node / group.gpus_together(gpus_per_node);  // groups that fill nodes
  std::vector<moe::ExpertHosts> layers;
  for (std::size_t layer = 0; layer < group.layers.size(); ++layer) {
    GOODPUT_TRY(moe::ExpertHosts hosts, hosts_of_groups(group, layer, experts, filling));
    layers.push_back(std::move(hosts));
  }
  return busiest_replicas(layers, gpus_per_node, static_cast<std::int32_t>((groups + filling - 1) / filling));
}

}  // namespace goodput
