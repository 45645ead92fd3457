// Whole numbers in proportion to weights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace goodput {

// Parts of `total` in proportion to `weights`, by largest remainder: every part is the floor of its exact
// share, and what is left goes one each to the largest fractions, the earlier one first where these are
// equal. Exact in integers. Weights that are all zero count as equal. REQUIRES: weights is not empty, none is
// negative, their sum and `total` are in [0, 2^63).
[[nodiscard]] std::vector<std::int64_t> apportion(std::span<const std::int64_t> weights, std::int64_t total);

}  // namespace goodput
