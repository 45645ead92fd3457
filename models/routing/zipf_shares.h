// How popular the experts of a layer are by Zipf's law.
#pragma once

#include <cstdint>
#include <vector>

#include "models/shape/model_shape.h"

namespace goodput {

// Of the tokens' copies, by expert; they add up to 1. Shares follow 1/rank^skew in an order drawn per layer,
// but no expert gets a token twice: none has more than 1/top_k. REQUIRES: skew >= 0.
[[nodiscard]] std::vector<double> zipf_shares(const MoeShape& moe, double skew, std::int32_t layer,
                                              std::uint64_t seed);

}  // namespace goodput
