#include "sim/base/apportion.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include "sim/base/errors.h"

namespace goodput {
namespace {

__extension__ using Wide = unsigned __int128;

std::int64_t sum_of(std::span<const std::int64_t> weights) {
  std::int64_t sum = 0;
  for (const std::int64_t weight : weights) {
    GOODPUT_CHECK(weight >= 0 && weight <= std::numeric_limits<std::int64_t>::max() - sum,
                  "weights must not be negative, and their sum must not overflow");
    sum += weight;
  }
  return sum;
}

}  // namespace

std::vector<std::int64_t> apportion(std::span<const std::int64_t> weights, std::int64_t total) {
  GOODPUT_CHECK(!weights.empty() && total >= 0,
                "there must be at least one weight, and the total must not be negative");
  const std::int64_t sum = sum_of(weights);
  const bool is_even = sum == 0;
  const auto whole = static_cast<std::uint64_t>(is_even ? static_cast<std::int64_t>(weights.size()) : sum);

  std::vector<std::int64_t> parts(weights.size());
  std::vector<std::uint64_t> remainders(weights.size());
  std::int64_t left = total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Wide share =
        Wide{static_cast<std::uint64_t>(total)} * (is_even ? 1 : static_cast<std::uint64_t>(weights[i]));
    parts[i] = static_cast<std::int64_t>(share / whole);
    remainders[i] = static_cast<std::uint64_t>(share % whole);
    left -= parts[i];
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::nth_element(order.begin(), order.begin() + left, order.end(), [&](std::size_t a, std::size_t b) {
    return remainders[a] != remainders[b] ? remainders[a] > remainders[b] : a < b;
  });
  for (std::size_t i = 0; i < static_cast<std::size_t>(left); ++i) ++parts[order[i]];
  return parts;
}

}  // namespace goodput
