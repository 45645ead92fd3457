// What `goodput routing info` tells about a routing trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/routing/routing_trace.h"

namespace goodput {

// Means of RoutingSkew over rows.
struct MeanSkew {
  double padding_factor = 0;
  double top_padding_factor = 0;  // of the busiest experts that were asked for
  double variation = 0;
  double zipf_exponent = 0;
  double hottest_share = 0;
  double entropy = 0;
  double idle_experts = 0;
};

struct LayerRouting {
  std::int64_t layer = 0;
  MeanSkew skew;                     // of the iterations that were asked for
  std::optional<double> distance{};  // mean total variation distance to the next row, all iterations
  std::optional<double> hottest_change_rate{};  // a row, all iterations
};

// All layers together at one iteration.
struct RoutingMoment {
  std::int64_t iteration = 0;
  MeanSkew skew;
  std::optional<double> distance{};  // to the moment before
};

// Mean of all layers.
struct RoutingLag {
  std::size_t rows = 0;
  std::optional<std::int64_t> iterations;  // where the interval is always the same
  double distance = 0;                     // total variation, mean of all pairs
};

struct RoutingQuestion {
  std::vector<std::size_t> layers;       // positions in RoutingTrace::layers(), at least one
  std::optional<std::size_t> iteration;  // position; absent: the mean of all
  std::size_t top = 0;                   // experts of top_padding_factor; 0: all
};

struct RoutingSummary {
  std::optional<std::int64_t> interval;  // of iterations, where it is always the same
  std::int64_t least_tokens = 0;         // of a layer and iteration, copies counted
  std::int64_t most_tokens = 0;
  std::vector<LayerRouting> layers;
  LayerRouting mean;                  // of these; its number means nothing
  std::vector<RoutingMoment> course;  // some iterations, first and last among them
  std::vector<RoutingLag> drift;
};
[[nodiscard]] RoutingSummary summarize(const RoutingTrace& trace, const RoutingQuestion& question);

}  // namespace goodput
