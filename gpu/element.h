// The element types of activations, alike on host and device: conversions round to nearest, ties to even, and
// every NaN becomes 0x7fff, as the hardware's do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "models/dispatch/dispatch.h"  // GOODPUT_HOST_DEVICE

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace goodput::gpu {

enum class ElementType : std::uint8_t { kBf16, kFp16, kFp32 };

constexpr std::size_t bytes_of(ElementType type) {
  return type == ElementType::kFp32 ? 4 : 2;
}

constexpr const char* name_of(ElementType type) {
  return type == ElementType::kBf16 ? "bf16" : type == ElementType::kFp16 ? "fp16" : "fp32";
}

struct Bf16 {
  std::uint16_t bits;
};
struct Fp16 {
  std::uint16_t bits;
};

template <class T>
inline constexpr ElementType kElementType = ElementType::kFp32;
template <>
inline constexpr ElementType kElementType<Bf16> = ElementType::kBf16;
template <>
inline constexpr ElementType kElementType<Fp16> = ElementType::kFp16;

namespace detail {

inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// What is left of `bits` after its low `drop` bits, rounded to nearest even.
inline std::uint32_t round_off(std::uint32_t bits, int drop) {
  const std::uint32_t half = (std::uint32_t{1} << (drop - 1)) - 1;
  return (bits + half + ((bits >> drop) & 1U)) >> drop;
}

inline std::uint16_t bf16_bits(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return 0x7fff;
  return static_cast<std::uint16_t>(round_off(bits, 16));
}

// fp16 has 5 exponent bits with bias 15, fp32 8 with bias 127; 2^-14 is the least normal fp16 number.
inline std::uint16_t fp16_bits(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return 0x7fff;
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // >= 65520: infinity
  if (magnitude >= 0x38800000U)
    return static_cast<std::uint16_t>(sign | round_off(magnitude - 0x38000000U, 13));
  if (magnitude <= 0x33000000U) return static_cast<std::uint16_t>(sign);  // <= 2^-25: zero
  const int drop = 126 - static_cast<int>(magnitude >> 23);               // 14 .. 24
  return static_cast<std::uint16_t>(sign | round_off((magnitude & 0x7fffffU) | 0x800000U, drop));
}

inline float fp16_value(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fU;
  const std::uint32_t mantissa = half & 0x3ffU;
  if (exponent == 0x1f) return float_of(sign | 0x7f800000U | (mantissa << 13));
  if (exponent != 0) return float_of(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return sign != 0 ? -magnitude : magnitude;
}

}  // namespace detail

GOODPUT_HOST_DEVICE inline float to_float(float value) {
  return value;
}

GOODPUT_HOST_DEVICE inline float to_float(Bf16 value) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
#else
  return detail::float_of(static_cast<std::uint32_t>(value.bits) << 16);
#endif
}

GOODPUT_HOST_DEVICE inline float to_float(Fp16 value) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(value.bits));
#else
  return detail::fp16_value(value.bits);
#endif
}

template <class T>
GOODPUT_HOST_DEVICE inline T from_float(float value);

template <>
GOODPUT_HOST_DEVICE inline float from_float<float>(float value) {
  return value;
}

template <>
GOODPUT_HOST_DEVICE inline Bf16 from_float<Bf16>(float value) {
#if defined(__CUDA_ARCH__)
  return {__bfloat16_as_ushort(__float2bfloat16_rn(value))};
#else
  return {detail::bf16_bits(value)};
#endif
}

template <>
GOODPUT_HOST_DEVICE inline Fp16 from_float<Fp16>(float value) {
#if defined(__CUDA_ARCH__)
  return {__half_as_ushort(__float2half_rn(value))};
#else
  return {detail::fp16_bits(value)};
#endif
}

}  // namespace goodput::gpu
