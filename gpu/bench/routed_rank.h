// One rank of a random cluster, on the device, with what the reference makes of the same input.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/bench/routing.h"
#include "gpu/bench/traffic.h"
#include "gpu/dispatcher.h"
#include "gpu/reference.h"

namespace goodput::gpu::bench {

// What a rank is given, and the counts of all others.
struct RoutedInput {
  std::int32_t me;
  reference::Placement placement;
  std::vector<std::int32_t> routing;  // tokens x top_k
  std::vector<moe::Tokens> counts;    // ranks x experts; REQUIRES: those of `me` are the routing's
};

// The rank in the middle. Every rank has as many tokens as this one; the counts of the others are drawn, so
// that nothing has to be exchanged.
class RoutedRank {
 public:
  RoutedRank(const ClusterSize& cluster, const LayerShape& layer, moe::DispatchPolicy policy, CopyPath path,
             const Stream& stream);
  // Any other rank.
  RoutedRank(RoutedInput input, const LayerShape& layer, moe::DispatchPolicy policy, CopyPath path,
             const Stream& stream);

  [[nodiscard]] const LayerShape& layer() const { return layer_; }
  // Counted, scheduled and placed; nothing is queued any more.
  [[nodiscard]] Dispatcher& dispatcher() { return dispatcher_; }
  [[nodiscard]] const std::int32_t* device_routing() const { return device_routing_.data(); }
  [[nodiscard]] const std::vector<std::int32_t>& routing() const { return routing_; }
  [[nodiscard]] const std::vector<moe::Tokens>& own_counts() const { return own_counts_; }
  [[nodiscard]] std::int64_t rows_received() const { return rows_received_; }

  // Computed by the reference.
  [[nodiscard]] const reference::RankLayout& layout() const { return layout_; }
  [[nodiscard]] std::vector<std::int32_t> compute_positions() const;

 private:
  LayerShape layer_;
  std::int32_t me_;
  reference::Placement placement_;
  std::vector<std::int32_t> routing_;
  std::vector<moe::Tokens> own_counts_;
  std::vector<moe::Tokens> counts_;
  reference::Schedule schedule_;
  reference::RankLayout layout_;
  DeviceBuffer<std::int32_t> device_routing_;
  Dispatcher dispatcher_;
  std::int64_t rows_received_ = 0;
};

}  // namespace goodput::gpu::bench
