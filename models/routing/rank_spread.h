// How unevenly the ranks of a job route tokens to an expert.
//
// An expert's tokens are split over the ranks in proportion to factors with mean 1, drawn or recorded. Then
// they are fitted: every rank routes as many tokens as any other (but for one), and every expert has the
// tokens that it had. Fitting takes from the spread of an expert that gets a large part of all tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/routing/rank_rows.h"

namespace goodput {

struct RankSpread {
  double spread =
      0;  // of drawn factors: log-normal with this standard deviation, one per layer, rank and expert
  std::uint64_t seed = 0;
  // Recorded factors instead, by MoE layer: an expert's tokens in a row over its mean of all rows. Rank j has
  // row j, and starts over after the last.
  std::vector<std::vector<double>> recorded{};  // rows x experts
  std::size_t rows = 0;

  // Every rank routes as many tokens to an expert as any other (tokens_of_rank).
  [[nodiscard]] bool is_even() const { return spread == 0 && recorded.empty(); }
};

// Recorded factors of these layers and experts: positions in `rows`, and for each layer its experts.
// An expert without a token has the factor 1 everywhere.
[[nodiscard]] RankSpread recorded_spread(const RankRows& rows, std::span<const std::size_t> layers,
                                         std::span<const std::vector<std::int32_t>> experts);

// Tokens of every rank for every expert of a MoE layer, ranks x experts, if the experts have `tokens` over
// all ranks. REQUIRES: !is_even(), at least one rank and expert, fewer than 2^31 tokens per expert.
[[nodiscard]] std::vector<std::int32_t> rank_tokens(const RankSpread& spread, std::size_t layer,
                                                    std::int32_t ranks, std::span<const std::int64_t> tokens);

}  // namespace goodput
