// Random whole numbers for cases that tests draw.
#pragma once

#include <cstdint>

#include "sim/base/random.h"

namespace goodput::testing {

// Uniform in low ... high, both included.
[[nodiscard]] inline std::int32_t between(RandomStream& random, std::int32_t low, std::int32_t high) {
  return low + static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}

}  // namespace goodput::testing
