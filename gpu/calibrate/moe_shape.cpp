#include "gpu/calibrate/moe_shape.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "gpu/calibrate/grouped_gemm_sweep.h"
#include "models/dispatch/dispatch.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr std::uint64_t kRoutingSeed = 20250101;
constexpr int kRatioExperts = 8;

std::size_t place(std::int64_t at) {
  return static_cast<std::size_t>(at);
}

// Rows that every rank gets, by the reference.
std::vector<std::int64_t> rows_of_ranks(const reference::Schedule& schedule) {
  std::vector<std::int64_t> rows(place(schedule.ranks));
  for (std::int32_t rank = 0; rank < schedule.ranks; ++rank) {
    for (std::int32_t expert = 0; expert < schedule.experts; ++expert)
      rows[place(rank)] += schedule.capacity[schedule.cell(rank, expert)];
  }
  return rows;
}

struct RoutedCluster {
  reference::Placement placement;
  std::vector<moe::Tokens> counts;  // ranks x experts
  reference::Schedule schedule;
  std::int32_t busiest;
};

RoutedCluster routed_cluster(const MoeShape& shape) {
  const std::vector<std::int64_t> slots = shape.slots_of_experts();
  RoutedCluster cluster{{static_cast<std::int32_t>(shape.ranks), static_cast<std::int32_t>(shape.experts()),
                         replicas_by_load(slots, shape.ranks, shape.slots)},
                        {},
                        {},
                        0};
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank)
    for (const std::int64_t of_expert : slots) cluster.counts.push_back(static_cast<moe::Tokens>(of_expert));
  cluster.schedule =
      reference::make_schedule(cluster.placement, cluster.counts, moe::DispatchPolicy::kProportional);
  const std::vector<std::int64_t> rows = rows_of_ranks(cluster.schedule);
  cluster.busiest = static_cast<std::int32_t>(std::max_element(rows.begin(), rows.end()) - rows.begin());
  return cluster;
}

}  // namespace

std::vector<std::int64_t> MoeShape::slots_of_experts() const {
  return rows_by_load(loads, tokens * top_k);
}

std::vector<std::int64_t> MoeShape::busiest_rows() const {
  if (dispatch == MoeDispatch::kPadded) {
    const std::vector<std::int64_t> slots_of = slots_of_experts();
    return {ranks * *std::max_element(slots_of.begin(), slots_of.end())};
  }
  const RoutedCluster cluster = routed_cluster(*this);
  std::vector<std::int64_t> rows;
  for (std::int32_t expert = 0; expert < cluster.placement.experts; ++expert) {
    const std::size_t cell = cluster.placement.cell(cluster.busiest, expert);
    if (cluster.placement.replicas[cell] > 0) rows.push_back(cluster.schedule.capacity[cell]);
  }
  return rows;
}

std::vector<int> linear_loads(int experts) {
  std::vector<int> loads;
  for (int left = experts; left > 0; --left) loads.push_back(left);
  return loads;
}

std::vector<int> ratio_loads(int ratio) {
  std::vector<int> loads(kRatioExperts, kRatioExperts - ratio);
  loads[0] = (kRatioExperts - 1) * ratio;
  return loads;
}

std::vector<std::int32_t> replicas_by_load(const std::vector<std::int64_t>& slots_of_experts,
                                           std::int64_t ranks, std::int64_t slots) {
  const auto experts = static_cast<std::int64_t>(slots_of_experts.size());
  std::vector<std::int64_t> replicas(slots_of_experts.size(), 1);
  for (std::int64_t left = ranks * slots - experts; left > 0; --left) {
    std::size_t fullest = 0;
    for (std::size_t e = 1; e < replicas.size(); ++e) {
      if (slots_of_experts[e] * replicas[fullest] > slots_of_experts[fullest] * replicas[e]) fullest = e;
    }
    ++replicas[fullest];
  }
  const bool in_order = ranks * slots == experts;
  std::vector<std::int32_t> placed(place(ranks * experts));
  std::int64_t slot = 0;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    for (std::int64_t i = 0; i < replicas[place(expert)]; ++i, ++slot) {
      const std::int64_t rank = in_order ? slot / slots : slot % ranks;
      ++placed[place(rank * experts + expert)];
    }
  }
  return placed;
}

// Slots by expert lie in a row; a token takes every `tokens`-th of them, so that no two of its choices are of
// one expert.
std::vector<std::int32_t> routing_of(const std::vector<std::int64_t>& slots_of_experts, std::int64_t tokens,
                                     std::int64_t top_k, std::uint64_t seed) {
  std::vector<std::int32_t> by_expert;
  for (std::size_t expert = 0; expert < slots_of_experts.size(); ++expert)
    by_expert.insert(by_expert.end(), place(slots_of_experts[expert]), static_cast<std::int32_t>(expert));
  std::vector<std::int64_t> order(place(tokens));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::mt19937_64 draw(seed);
  for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[draw() % left]);
  std::vector<std::int32_t> expert_of(by_expert.size());
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t choice = 0; choice < top_k; ++choice)
      expert_of[place(token * top_k + choice)] = by_expert[place(order[place(token)] + choice * tokens)];
  }
  return expert_of;
}

bench::RoutedInput routed_input(const MoeShape& shape) {
  RoutedCluster cluster = routed_cluster(shape);
  return {cluster.busiest, std::move(cluster.placement),
          routing_of(shape.slots_of_experts(), shape.tokens, shape.top_k, kRoutingSeed),
          std::move(cluster.counts)};
}

}  // namespace goodput::gpu::calibrate
