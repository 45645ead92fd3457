// Compares rows that kernels wrote with what the reference makes of the same payload. Inputs are not read
// back: payload() knows them.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/bench/point.h"
#include "gpu/bench/traffic.h"
#include "gpu/element.h"

namespace goodput::gpu::bench {

// What an operation was given, and what it left.
struct TokenOperands {
  LayerShape layer;
  const std::vector<std::int32_t>& positions;  // tokens x top_k
  std::uint64_t token_seed;                    // payload of tokens x hidden
  std::uint64_t row_seed;                      // payload of rows x hidden
  const std::vector<float>& weights;           // tokens x top_k
  const Bf16* output;                          // device
  const float* d_weights;                      // device; of combine_backward
};

// All tokens, or as many of them, spread evenly, as make 50 million elements on their way.
// `output` is by row for scatter and combine_backward, by token for the others.
[[nodiscard]] Check check_scatter(const TokenOperands& operands);
[[nodiscard]] Check check_scatter_backward(const TokenOperands& operands);
[[nodiscard]] Check check_combine(const TokenOperands& operands);
[[nodiscard]] Check check_combine_backward(const TokenOperands& operands);

// output[to[i]] is row from[i] of the payload. `from` and `to` have the same size.
[[nodiscard]] Check check_moved_rows(const std::vector<std::int32_t>& from,
                                     const std::vector<std::int32_t>& to, std::int64_t hidden,
                                     std::uint64_t seed, const Bf16* output);

}  // namespace goodput::gpu::bench
