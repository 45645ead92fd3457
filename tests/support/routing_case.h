// The routing of a job, written down.
#pragma once

#include <doctest/doctest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "models/routing/job_routing.h"
#include "tests/support/placement_case.h"

namespace goodput::testing {

// Recorded at these iterations: loads by layer and expert, of every one. What follows is up to `after_end`.
[[nodiscard]] inline JobRouting recorded_routing(std::vector<std::int64_t> iterations,
                                                 const std::vector<LayerLoads>& rows,
                                                 AfterEnd after_end = AfterEnd::kHold) {
  RoutingSelection all;
  all.after_end = after_end;
  all.layers.resize(rows[0].size());
  std::iota(all.layers.begin(), all.layers.end(), std::size_t{0});
  all.experts = static_cast<std::int32_t>(rows[0][0].size());
  std::vector<std::int64_t> loads;
  for (const LayerLoads& row : rows) {
    for (const std::vector<std::int64_t>& layer : row) loads.insert(loads.end(), layer.begin(), layer.end());
  }
  std::vector<std::int64_t> layers(rows[0].size());
  std::iota(layers.begin(), layers.end(), 0);
  auto routing = JobRouting::from_trace(
      RoutingTrace(std::move(iterations), std::move(layers), all.experts, std::move(loads)), all);
  REQUIRE(routing);
  return *std::move(routing);
}

}  // namespace goodput::testing
