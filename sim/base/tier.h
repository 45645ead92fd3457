// Where a number comes from, best first; an answer is as good as the worst number it rests on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace goodput {

enum class Tier : std::uint8_t {
  kMeasured,    // by our calibration, on the machine in question
  kLiterature,  // published measurement
  kDatasheet,   // the vendor's rating
  kModel,       // computed from a model that was validated elsewhere
  kAssumed,     // nobody measured it; a named parameter to sweep
};

inline constexpr std::array<std::string_view, 5> kTierNames = {"measured", "literature", "datasheet", "model",
                                                               "assumed"};

[[nodiscard]] constexpr std::string_view to_string(Tier tier) {
  return kTierNames[static_cast<std::size_t>(tier)];
}
[[nodiscard]] constexpr Tier lowest(Tier a, Tier b) {
  return std::max(a, b);
}

}  // namespace goodput
