// What a measured time is worth: against the floor that copying sets, or against a target. Host only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace goodput::gpu::bench {

// Of a point that moves rows: its bytes, and the ceiling of the same run.
struct AgainstFloor {
  double floor_us;
  double share;  // floor over the median of the events
};

// None: no such ceiling was measured, none that copied right, or a time below what events resolve (0).
[[nodiscard]] std::optional<AgainstFloor> judge_floor(std::int64_t bytes, std::optional<double> gb_per_s,
                                                      double median_us);

// Kernels with a target are launched from a graph, so replays count; the events only where there are none.
[[nodiscard]] bool meets_target(double target_us, std::optional<double> graph_median_us,
                                double events_median_us);

// The same for a share of the ceiling that is to be reached.
[[nodiscard]] bool meets_share(double target, std::optional<double> graph_share, double events_share);

// "85.3 %"
[[nodiscard]] std::string percent_text(double share);
// Three significant digits or more: "0.412", "27.3", "122.9", "1966".
[[nodiscard]] std::string us_text(double us);

}  // namespace goodput::gpu::bench
