// Rounding to the precision in which NDTimeline records times.
#pragma once

namespace goodput {

// The nearest float32, as a double. The build turns off gcc's SLP vectorizer, which drops this rounding where
// two neighbouring doubles are rounded together (seen with gcc 12.2 at -O2);
// tests/sim/base/foundation_test.cpp notices.
[[nodiscard]] constexpr double round_to_float32(double value) {
  return static_cast<double>(static_cast<float>(value));
}

}  // namespace goodput
