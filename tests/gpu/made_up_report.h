// A report of a run that nobody made, with numbers that are easy to check.
#pragma once

#include <string>
#include <vector>

#include "gpu/bench/run_report.h"

namespace goodput::gpu::bench {

inline SampledTimes made_up_times(double median_us, const SmClock& sm_mhz = {1980, 1980},
                                  bool steady_clock = true) {
  const Statistics us{50, median_us, median_us - 1, median_us + 1, median_us - 2, median_us, 0.01};
  return {us, Stop::kSteady, {110, WarmUpEnd::kSteady}, sm_mhz, steady_clock};
}

inline Measurement made_up_measurement(double events_us, std::optional<double> graph_us) {
  Measurement time{made_up_times(events_us), {}, 1, CacheState::kCold};
  if (graph_us) time.graph = GraphTimes{made_up_times(*graph_us), 3};
  return time;
}

// All of 7 items right.
inline PointResult made_up_result(std::int64_t bytes, double events_us, std::optional<double> graph_us) {
  return {made_up_measurement(events_us, graph_us), bytes, {0, 70, 7, 7}};
}

// A point that would take nothing, of op "scatter" by default.
inline Point made_up_point(const std::string& op, const PointGoal& goal) {
  return {{op, "T=1", "bulk"}, PointTurn::kTarget, goal, [](const Measurer&) {
            return made_up_result(1000, 10, 8);
          }};
}

// A ceiling of 4000 GB/s.
inline CopyCeiling made_up_ceiling(const CopyFlow& flow) {
  const Measurement time = made_up_measurement(500, {});
  return {flow, 1 << 20, {{"slow", time, 3000, 0}, {"fast", time, 4000, 0}}, {}};
}

}  // namespace goodput::gpu::bench
