#include "tests/gpu/reference_cases.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/support/routed_cluster.h"

namespace goodput::testing {
namespace {

using gpu::reference::Placement;

// The first slots hold every expert once, the others low numbers more often; slot i is on rank i mod ranks.
Placement slotted_placement(const GridPoint& point, RandomStream& random) {
  const std::int32_t slots = std::max(4, (point.experts + point.ranks - 1) / point.ranks);
  Placement placement = {point.ranks, point.experts, {}};
  placement.replicas.assign(placement.cell(point.ranks, 0), 0);
  for (std::int32_t slot = 0; slot < slots * point.ranks; ++slot) {
    const double draw = random.uniform();
    const auto expert = slot < point.experts ? slot : static_cast<std::int32_t>(draw * draw * point.experts);
    ++placement.replicas[placement.cell(slot % point.ranks, expert)];
  }
  return placement;
}

}  // namespace

// One point for every pair of ranks and tokens, 47 in all: no grid is smaller. The sum of their places in the
// lists turns the experts with period 4 and top-k with period 3, so 12 points in a row have all pairs of
// these; the 2 puts the smallest top-k where ranks x tokens is largest.
std::vector<GridPoint> pairwise_grid() {
  std::vector<GridPoint> grid;
  for (std::size_t i = 0; i < kGridRanks.size(); ++i) {
    for (std::size_t j = 0; j < kGridTokens.size(); ++j) {
      if (kGridRanks[i] >= 1000 && kGridTokens[j] > kMostTokensOfManyRanks) continue;
      grid.push_back({kGridRanks[i], kGridExperts[(i + j) % kGridExperts.size()], kGridTokens[j],
                      kGridTopK[(i + j + 2) % kGridTopK.size()]});
    }
  }
  return grid;
}

Cluster make_cluster(const GridPoint& point, Trouble trouble, RandomStream& random) {
  Cluster cluster = {slotted_placement(point, random), {}, {}};
  if (trouble == Trouble::kFailedRanks)
    fail_ranks(cluster.placement.replicas, at(point.experts), 1.0 / 3, random);
  const auto popular = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(point.experts)));
  for (std::int32_t rank = 0; rank < point.ranks; ++rank) {
    cluster.expert_of.push_back(random_slots(random, 1, point.experts, point.tokens, point.top_k, 0.05));
    if (trouble != Trouble::kOneExpert) continue;
    for (std::int32_t& expert : cluster.expert_of.back()) expert = expert < 0 ? expert : popular;
  }
  cluster.counts = gpu::reference::count_cluster(cluster.expert_of, point.experts);
  return cluster;
}

}  // namespace goodput::testing
