// Random clusters and routings to measure with: what a mixture-of-experts layer would give the dispatcher.
// Host only; the same seed gives the same numbers everywhere.
#pragma once

#include <cstdint>
#include <vector>

#include "models/dispatch/dispatch.h"

namespace goodput::gpu::bench {

struct ClusterSize {
  std::int32_t ranks;
  std::int32_t experts;
  std::int32_t slots_per_rank;
};

// Replicas, ranks x experts: every expert is in at least one slot, the other slots hold experts drawn at
// random. REQUIRES: as many slots as experts or more.
[[nodiscard]] std::vector<std::int32_t> draw_replicas(const ClusterSize& size, std::uint64_t seed);

// tokens x top_k: different experts for every token, all equally likely. REQUIRES: top_k <= experts.
[[nodiscard]] std::vector<std::int32_t> draw_routing(std::int64_t tokens, std::int32_t top_k,
                                                     std::int32_t experts, std::uint64_t seed);

// Tokens of every rank for every expert, ranks x experts: `own` of rank `me`, for the others numbers between
// half and one and a half times the mean of `own`, uniformly.
[[nodiscard]] std::vector<moe::Tokens> draw_counts(const ClusterSize& size, std::int32_t me,
                                                   const std::vector<moe::Tokens>& own, std::uint64_t seed);

// All of 0 .. total - 1 where there are no more than `most`, else that many, spread evenly with the first and
// the last. REQUIRES: most >= 2.
[[nodiscard]] std::vector<std::int64_t> spread_sample(std::int64_t total, std::int64_t most);

}  // namespace goodput::gpu::bench
