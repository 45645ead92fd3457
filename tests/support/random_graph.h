// Seeded small op graphs with groups, for tests that compare an engine with another on all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/random.h"
#include "sim/ops/op_graph.h"

namespace goodput::testing {

struct RandomGraphSpec {
  std::size_t max_ops = 40;
  std::size_t max_levels = 12;     // chains are no longer
  std::size_t max_group = 4;       // members
  double grouped = 0.5;            // share of the ops that are offered to a group
  double replicas = 0.4;           // share of the groups that meet across the lanes
  std::size_t lanes = 0;           // above 0, half of these in a random partition of so many lanes
  double predecessors_per_op = 2;  // on average, before repeats are dropped
};

// By replica, the block it is in: neighbors, every n-th, or any, some of them alone.
[[nodiscard]] std::vector<std::uint32_t> random_blocks(std::size_t replicas, RandomStream& random);

// Numbered at random, so that the order of evaluation is not the caller's.
[[nodiscard]] OpGraph random_graph(std::uint64_t seed, const RandomGraphSpec& spec = {});

}  // namespace goodput::testing
