// Many questions at once.
#pragma once

#include <span>
#include <vector>

namespace goodput {

// P-values such that of those at or below alpha one or more is false with a probability of at most alpha,
// however they hang together (Holm, Scandinavian Journal of Statistics 6, 1979). REQUIRES: from 0 to 1 each.
[[nodiscard]] std::vector<double> holm_adjusted(std::span<const double> p_values);

}  // namespace goodput
