// Clusters to try the CPU reference of the CUDA dispatcher on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/reference.h"
#include "sim/base/random.h"

namespace goodput::testing {

// A rank, expert or count as an index.
[[nodiscard]] inline std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// Sizes of a dispatch; `tokens` are of a rank.
struct GridPoint {
  std::int32_t ranks;
  std::int32_t experts;
  std::int32_t tokens;
  std::int32_t top_k;

  [[nodiscard]] std::int64_t slots() const { return std::int64_t{ranks} * tokens * top_k; }
};

inline const std::vector<std::int32_t> kGridRanks = {1, 2, 7, 8, 64, 1000, 1024};
inline const std::vector<std::int32_t> kGridExperts = {1, 8, 96, 512};
inline const std::vector<std::int32_t> kGridTokens = {0, 1, 31, 32, 33, 2047, 65536};
inline const std::vector<std::int32_t> kGridTopK = {1, 2, 8};
// The only pairs left out: 1000 ranks or more with more tokens than this each.
inline constexpr std::int32_t kMostTokensOfManyRanks = 2047;

// Every pair of values of two of the four lists is in some point.
[[nodiscard]] std::vector<GridPoint> pairwise_grid();

struct Cluster {
  gpu::reference::Placement placement;
  std::vector<std::vector<std::int32_t>> expert_of;  // by rank: tokens x top_k
  std::vector<moe::Tokens> counts;                   // ranks x experts
};

enum class Trouble {
  kNone,         // every expert has a host
  kFailedRanks,  // a third of the ranks host nothing, and experts may be lost
  kOneExpert,    // all tokens of all ranks go to one expert
};
inline constexpr Trouble kTroubles[] = {Trouble::kNone, Trouble::kFailedRanks, Trouble::kOneExpert};

// Ranks have 4 slots (more where the experts would not fit): popular experts are in many, several on one rank
// too. A twentieth of the routed slots is dropped.
[[nodiscard]] Cluster make_cluster(const GridPoint& point, Trouble trouble, RandomStream& random);

}  // namespace goodput::testing
