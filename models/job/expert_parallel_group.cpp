#include "models/job/expert_parallel_group.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/job/placed_load.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

// Of so many groups one after the other.
Result<std::vector<moe::ExpertHosts>> hosts_of_groups(const ExpertParallelGroup& group, std::int32_t experts,
                                                      std::int32_t groups) {
  std::vector<moe::ExpertHosts> layers;
  const auto add = [&](const std::vector<std::int32_t>& one) -> Status {
    std::vector<std::int32_t> all;
    for (std::int32_t i = 0; i < groups; ++i) all.insert(all.end(), one.begin(), one.end());
    const std::int32_t slots = group.slots_per_gpu(experts);
    GOODPUT_TRY(moe::ExpertHosts hosts,
                moe::ExpertHosts::from_slots(group.gpus * groups, experts, slots, all));
    layers.push_back(std::move(hosts));
    return Ok{};
  };
  if (group.layers.empty()) {
    std::vector<std::int32_t> in_order(index(experts));
    std::iota(in_order.begin(), in_order.end(), 0);
    GOODPUT_TRY_STATUS(add(in_order));
  }
  for (const ExpertPlacement& layer : group.layers) GOODPUT_TRY_STATUS(add(layer.expert_at));
  return layers;
}

}  // namespace

Result<std::vector<moe::ExpertHosts>> ExpertParallelGroup::hosts(std::int32_t experts) const {
  return hosts_of_groups(*this, experts, 1);
}

bool ExpertParallelGroup::keeps_routing_groups(const MoeShape& moe, std::int32_t gpus_per_node) const {
  if (layers.empty() || moe.expert_groups == 0) return true;
  const std::int32_t slots_per_node = slots_per_gpu(moe.experts) * gpus_together(gpus_per_node);
  const std::int32_t size = moe.experts / moe.expert_groups;
  return std::ranges::all_of(layers, [&](const ExpertPlacement& layer) {
    std::vector<std::int64_t> node_of(index(moe.expert_groups), -1);
    for (std::size_t slot = 0; slot < layer.expert_at.size(); ++slot) {
      const auto node = static_cast<std::int64_t>(slot) / slots_per_node;
      std::int64_t& of_group = node_of[index(layer.expert_at[slot] / size)];
      if (of_group >= 0 && of_group != node) return false;
      of_group = node;
    }
    return true;
  });
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

Result<std::vector<std::vector<ReplicaGroup>>> replicas_of_groups(
    const ExpertParallelGroup& group, std::int32_t experts, std::int64_t groups, std::int32_t gpus_per_node,
    std::span<const std::vector<std::size_t>> layers) {
  const std::int32_t filling = gpus_per_node / group.gpus_together(gpus_per_node);  // groups that fill nodes
  GOODPUT_TRY(const std::vector<moe::ExpertHosts> hosts, hosts_of_groups(group, experts, filling));
  const std::int64_t copies = (groups + filling - 1) / filling;
  std::vector<std::vector<ReplicaGroup>> by_position;
  for (const std::vector<std::size_t>& here : layers) {
    by_position.push_back(busiest_replicas(hosts, here, gpus_per_node, static_cast<std::int32_t>(copies)));
  }
  return by_position;
}

}  // namespace goodput
