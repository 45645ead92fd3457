#include "gpu/bench/routed_rank.h"

namespace goodput::gpu::bench {
namespace {

constexpr std::uint64_t kSeed = 20240704;

DispatchShape shape_of(const ClusterSize& cluster, const LayerShape& layer, moe::DispatchPolicy policy) {
  return {cluster.ranks,
          cluster.experts,
          static_cast<std::int32_t>(layer.top_k),
          static_cast<std::int32_t>(layer.tokens),
          static_cast<std::int32_t>(layer.hidden),
          layer.element,
          policy};
}

}  // namespace

RoutedRank::RoutedRank(const ClusterSize& cluster, const LayerShape& layer, moe::DispatchPolicy policy,
                       CopyPath path, const Stream& stream)
    : layer_(layer),
      me_(cluster.ranks / 2),
      placement_{cluster.ranks, cluster.experts, draw_replicas(cluster, kSeed)},
      routing_(
          draw_routing(layer.tokens, static_cast<std::int32_t>(layer.top_k), cluster.experts, kSeed + 1)),
      own_counts_(reference::count_slots(routing_, cluster.experts)),
      counts_(draw_counts(cluster, me_, own_counts_, kSeed + 2)),
      schedule_(reference::make_schedule(placement_, counts_, policy)),
      layout_(reference::make_layout(placement_, schedule_, me_)),
      device_routing_(upload(routing_)),
      dispatcher_(shape_of(cluster, layer, policy),
                  make_placement(cluster.ranks, cluster.experts, placement_.replicas), me_, path) {
  dispatcher_.count(device_routing_.data(), static_cast<std::int32_t>(layer.tokens), stream.get());
  GOODPUT_CUDA(cudaMemcpyAsync(dispatcher_.all_counts(), counts_.data(), counts_.size() * sizeof(moe::Tokens),
                               cudaMemcpyHostToDevice, stream.get()));
  dispatcher_.schedule(stream.get());
  dispatcher_.place(stream.get());
  rows_received_ = dispatcher_.wait_host_counts().rows_received;
  stream.synchronize();
}

std::vector<std::int32_t> RoutedRank::compute_positions() const {
  return reference::positions(placement_, schedule_, layout_, me_, routing_);
}

}  // namespace goodput::gpu::bench
