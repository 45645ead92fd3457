// An 8-bit float with 4 exponent bits (bias 7) and 3 of mantissa, without infinities: the e4m3 of fp8
// training (Micikevicius et al. 2022). For host and device.
#pragma once

#include <cstdint>

#include "gpu/element.h"

namespace goodput::gpu::calibrate {

struct E4m3 {
  std::uint8_t bits;
};

// Of a number; the two NaNs (all bits but the sign set) become 480.
GOODPUT_HOST_DEVICE inline float to_float(E4m3 value) {
  const int exponent = (value.bits >> 3) & 0xf;
  const int mantissa = value.bits & 0x7;
  // 2^-9 is the least number; a normal one is (8 + mantissa) * 2^(exponent - 10).
  const int scaled = exponent == 0 ? mantissa : (8 + mantissa) << (exponent - 1);
  const float magnitude = static_cast<float>(scaled) * (1.0F / 512);
  return (value.bits & 0x80) != 0 ? -magnitude : magnitude;
}

}  // namespace goodput::gpu::calibrate
