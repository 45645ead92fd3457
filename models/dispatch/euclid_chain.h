// dispatch.h's counts of pairs without a division, for those who count many pairs of one expert: Euclid's
// algorithm on multiplier / size is the same for all of them. Its levels are computed once, each with the
// reciprocal of what is divided by there; a step of a count is then multiplications and no branch.
//
// As dispatch.h: C++17, integers only, for host and device.
#pragma once

#include <cstdint>

#include "models/dispatch/dispatch.h"

namespace goodput::moe {

// What divide() needs of a divisor m: 2^64 / m rounded down, or 2^64 / m - 1 where that is a whole number.
// REQUIRES: m > 0.
GOODPUT_HOST_DEVICE constexpr std::uint64_t reciprocal_of(std::uint32_t m) {
  return ~std::uint64_t{0} / m;
}

struct Division {
  std::uint32_t quotient;
  std::uint32_t remainder;
};

// n / m. The reciprocal is at most 1 too small, so the estimate of the quotient is too small by less than
// n / 2^64 + 1: by 0 or 1. REQUIRES: n < 2^62; m < 2^31; n / m < 2^32.
GOODPUT_HOST_DEVICE constexpr Division divide(std::uint64_t n, std::uint32_t m, std::uint64_t reciprocal) {
  __extension__ using Wide = unsigned __int128;
  const auto quotient = static_cast<std::uint32_t>(static_cast<Wide>(n) * reciprocal >> 64U);
  const std::uint32_t remainder = static_cast<std::uint32_t>(n) - quotient * m;
  const bool more = remainder >= m;
  return {quotient + (more ? 1U : 0U), more ? remainder - m : remainder};
}

// The same of 32 bits: the upper half of the reciprocal is that of 2^32.
GOODPUT_HOST_DEVICE constexpr Division divide(std::uint32_t n, std::uint32_t m, std::uint64_t reciprocal) {
  const auto quotient = static_cast<std::uint32_t>(std::uint64_t{n} * (reciprocal >> 32U) >> 32U);
  const std::uint32_t remainder = n - quotient * m;
  const bool more = remainder >= m;
  return {quotient + (more ? 1U : 0U), more ? remainder - m : remainder};
}

// A level divides by m, which is the size at the first level and the slope of the one before at the others.
struct alignas(16) EuclidLevel {  // words of 32 bits: one load of a kernel
  std::uint32_t quotient;         // what the division of the slope by m took off it
  std::uint32_t slope;            // what is left: below m; 0 at the last level
  std::uint32_t reciprocal_low;   // of m
  std::uint32_t reciprocal_high;

  [[nodiscard]] GOODPUT_HOST_DEVICE constexpr std::uint64_t reciprocal() const {
    return std::uint64_t{reciprocal_high} << 32U | reciprocal_low;
  }
};

// Enough for every size: two consecutive Fibonacci numbers below 2^31 take most divisions, 44.
inline constexpr int kMostEuclidLevels = 45;

// Goes through the levels of a map. REQUIRES: 0 < multiplier < size.
class EuclidCursor {
 public:
  GOODPUT_HOST_DEVICE constexpr explicit EuclidCursor(const SurplusMap& map)
      : m_(static_cast<std::uint32_t>(map.size)), slope_(static_cast<std::uint32_t>(map.multiplier)) {}

  [[nodiscard]] GOODPUT_HOST_DEVICE constexpr EuclidLevel level() const {
    const std::uint64_t reciprocal = reciprocal_of(m_);
    return {quotient_, slope_, static_cast<std::uint32_t>(reciprocal),
            static_cast<std::uint32_t>(reciprocal >> 32U)};
  }
  [[nodiscard]] GOODPUT_HOST_DEVICE constexpr bool is_last() const { return slope_ == 0; }
  // REQUIRES: !is_last().
  GOODPUT_HOST_DEVICE constexpr void advance() {
    const std::uint32_t left = m_ % slope_;
    quotient_ = m_ / slope_;
    m_ = slope_;
    slope_ = left;
  }

 private:
  std::uint32_t m_;
  std::uint32_t slope_;
  std::uint32_t quotient_ = 0;
};

// FloorSum (dispatch.h) of 32 bits: what it is used for are differences below 2^31. Once n is 0 it stays so
// and the sum with it, so a step may be taken too many.
struct ChainSum {
  std::uint32_t n;
  std::uint32_t b;
  std::uint32_t sum = 0;

  GOODPUT_HOST_DEVICE constexpr void step(const EuclidLevel& level, std::uint32_t m) {
    const Division of_b = divide(b, m, level.reciprocal());
    // n * (n - 1) / 2, and the half is taken of the even one.
    sum += (n >> 1U) * ((n - 1U) | 1U) * level.quotient + n * of_b.quotient;
    const Division top = divide(std::uint64_t{level.slope} * n + of_b.remainder, m, level.reciprocal());
    n = top.quotient;
    b = top.remainder;
  }
};

// dispatch.h's residual_place(). `reciprocal` is that of map.size.
GOODPUT_HOST_DEVICE constexpr Tokens residual_place(const SurplusMap& map, std::uint64_t reciprocal,
                                                    Tokens token) {
  const std::uint64_t multiple =
      std::uint64_t{static_cast<std::uint32_t>(map.multiplier)} * static_cast<std::uint32_t>(token);
  return static_cast<Tokens>(divide(multiple, static_cast<std::uint32_t>(map.size), reciprocal).remainder);
}

// dispatch.h's pair_count(). `chain`: the levels of the map, not looked at where the multiplier is 1.
GOODPUT_HOST_DEVICE constexpr Tokens pair_count(const SurplusMap& map, const EuclidLevel* chain,
                                                Interval surplus, Interval residual) {
  if (surplus.count == 0 || residual.count == 0) return 0;
  if (map.multiplier == 1) return overlap(surplus, residual);
  EuclidLevel level = *chain;
  auto m = static_cast<std::uint32_t>(map.size);
  const auto n = static_cast<std::uint32_t>(surplus.count);
  const std::uint32_t from_first =
      m + static_cast<std::uint32_t>(residual_place(map, level.reciprocal(), surplus.first)) -
      static_cast<std::uint32_t>(residual.first);
  ChainSum high{n, from_first};
  ChainSum low{n, from_first - static_cast<std::uint32_t>(residual.count)};
  for (;;) {
    // On its way while this level is computed with.
    const EuclidLevel next = level.slope == 0 ? level : *++chain;
    high.step(level, m);
    low.step(level, m);
    if ((high.n | low.n) == 0) return static_cast<Tokens>(high.sum - low.sum);
    m = level.slope;
    level = next;
  }
}

}  // namespace goodput::moe
