// The schedule of a random cluster (K2), ready to be run and to be checked.
#pragma once

#include <cstdint>

#include "gpu/bench/point.h"
#include "gpu/bench/routed_rank.h"
#include "gpu/report.h"

namespace goodput::gpu::bench {

struct CountPoint {
  ClusterSize cluster;
  LayerShape layer;
  moe::DispatchPolicy policy;
};

class ScheduleCase {
 public:
  ScheduleCase(const CountPoint& point, const Stream& stream);

  // The counts of all ranks are read; everything else is small beside them.
  [[nodiscard]] std::int64_t bytes() const;
  void run(cudaStream_t stream);
  // Of one more run, into poisoned memory.
  [[nodiscard]] Check check(const Stream& stream);

 private:
  CountPoint point_;
  RoutedRank rank_;
  DeviceBuffer<DeviceReport> report_;
};

}  // namespace goodput::gpu::bench
