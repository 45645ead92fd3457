// The number formats of matrix multiplications.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace goodput {

// kBf16: any 16-bit format. kTf32: 32 bits in memory, rounded by the tensor core.
enum class Precision : std::uint8_t { kFp32, kTf32, kBf16, kFp8 };

inline constexpr std::array<std::string_view, 4> kPrecisionNames = {"fp32", "tf32", "16 bits", "fp8"};

// Bytes per number in memory.
[[nodiscard]] constexpr double bytes_of(Precision precision) {
  return precision == Precision::kFp8 ? 1 : precision == Precision::kBf16 ? 2 : 4;
}

}  // namespace goodput
