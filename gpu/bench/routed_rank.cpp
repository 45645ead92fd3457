#include "gpu/bench/routed_rank.h"

#include <utility>

namespace goodput::gpu::bench {
namespace {

constexpr std::uint64_t kSeed = 20240704;

DispatchShape shape_of(const reference::Placement& placement, const LayerShape& layer,
                       moe::DispatchPolicy policy) {
  return {placement.ranks,
          placement.experts,
          static_cast<std::int32_t>(layer.top_k),
          static_cast<std::int32_t>(layer.tokens),
          static_cast<std::int32_t>(layer.hidden),
          layer.element,
          policy};
}

RoutedInput drawn_input(const ClusterSize& cluster, const LayerShape& layer) {
  const std::int32_t me = cluster.ranks / 2;
  std::vector<std::int32_t> routing =
      draw_routing(layer.tokens, static_cast<std::int32_t>(layer.top_k), cluster.experts, kSeed + 1);
  std::vector<moe::Tokens> counts =
      draw_counts(cluster, me, reference::count_slots(routing, cluster.experts), kSeed + 2);
  return {me,
          {cluster.ranks, cluster.experts, draw_replicas(cluster, kSeed)},
          std::move(routing),
          std::move(counts)};
}

}  // namespace

RoutedRank::RoutedRank(const ClusterSize& cluster, const LayerShape& layer, moe::DispatchPolicy policy,
                       CopyPath path, const Stream& stream)
    : RoutedRank(drawn_input(cluster, layer), layer, policy, path, stream) {}

RoutedRank::RoutedRank(RoutedInput input, const LayerShape& layer, moe::DispatchPolicy policy, CopyPath path,
                       const Stream& stream)
    : layer_(layer),
      me_(input.me),
      placement_(std::move(input.placement)),
      routing_(std::move(input.routing)),
      own_counts_(reference::count_slots(routing_, placement_.experts)),
      counts_(std::move(input.counts)),
      schedule_(reference::make_schedule(placement_, counts_, policy)),
      layout_(reference::make_layout(placement_, schedule_, me_)),
      device_routing_(upload(routing_)),
      dispatcher_(shape_of(placement_, layer, policy),
                  make_placement(placement_.ranks, placement_.experts, placement_.replicas), me_, path) {
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
