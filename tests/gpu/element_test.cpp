#include "gpu/element.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "sim/base/random.h"

namespace goodput::gpu {
namespace {

constexpr std::uint32_t kAllPatterns = 0x10000;

// How the bits of a 16-bit format are divided: a sign, exponent bits, mantissa bits.
template <class T>
struct Format;
template <>
struct Format<Bf16> {
  static constexpr int kMantissaBits = 7;
  static constexpr int kBias = 127;
  static constexpr std::uint16_t kInfinity = 0x7f80;
};
template <>
struct Format<Fp16> {
  static constexpr int kMantissaBits = 10;
  static constexpr int kBias = 15;
  static constexpr std::uint16_t kInfinity = 0x7c00;
};

// The value of a pattern that is neither infinite nor NaN, by the definition of the format. That of infinity
// is what would follow the largest finite number: from there on halfway numbers round up to it.
template <class T>
double value_of(std::uint16_t bits) {
  const int magnitude = bits & 0x7fff;
  const int mantissa = magnitude & ((1 << Format<T>::kMantissaBits) - 1);
  const int exponent = magnitude >> Format<T>::kMantissaBits;
  const double significand = exponent == 0 ? mantissa : mantissa + (1 << Format<T>::kMantissaBits);
  const int scale = (exponent == 0 ? 1 : exponent) - Format<T>::kBias - Format<T>::kMantissaBits;
  const double value = std::ldexp(significand, scale);
  return bits > 0x7fff ? -value : value;
}

// Rounding by search: magnitudes grow with their patterns, so bisect to the two around the number and take
// the nearer, of equally near ones the even one. REQUIRES: not NaN.
template <class T>
std::uint16_t nearest(float number) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(number) ? 0x8000 : 0);
  const double magnitude = std::abs(double{number});
  std::uint16_t low = 0;
  std::uint16_t high = Format<T>::kInfinity;
  if (magnitude >= value_of<T>(high)) return static_cast<std::uint16_t>(sign | high);
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (value_of<T>(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - value_of<T>(low);
  const double above = value_of<T>(high) - magnitude;
  const bool up = below > above || (below == above && high % 2 == 0);
  return static_cast<std::uint16_t>(sign | (up ? high : low));
}

float float_of(std::uint64_t bits) {
  return detail::float_of(static_cast<std::uint32_t>(bits));
}

template <class T>
bool is_nan(std::uint16_t bits) {
  return (bits & 0x7fff) > Format<T>::kInfinity;
}

}  // namespace

TEST_CASE_TEMPLATE("element: every pattern has its value, and comes back", T, Bf16, Fp16) {
  for (std::uint32_t pattern = 0; pattern < kAllPatterns; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    INFO("pattern " << pattern);
    const float value = to_float(T{bits});
    if (is_nan<T>(bits)) {
      REQUIRE(std::isnan(value));
      REQUIRE(from_float<T>(value).bits == 0x7fff);
      continue;
    }
    if ((bits & 0x7fff) == Format<T>::kInfinity) {
      REQUIRE(std::isinf(value));
    } else {
      REQUIRE(double{value} == value_of<T>(bits));
    }
    REQUIRE(std::signbit(value) == (bits > 0x7fff));
    REQUIRE(from_float<T>(value).bits == bits);
  }
}

TEST_CASE_TEMPLATE("element: halfway numbers go to even, and their neighbours to the nearer", T, Bf16, Fp16) {
  // Halfway between every pattern and the next: one significant bit more, exact in fp32. The last pair is the
  // largest finite number and infinity.
  for (std::uint16_t low = 0; low < Format<T>::kInfinity; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const double exact = (value_of<T>(low) + value_of<T>(high)) / 2;
    const auto half = static_cast<float>(exact);
    REQUIRE(double{half} == exact);
    INFO("between " << low << " and " << high);
    REQUIRE(from_float<T>(half).bits == (low % 2 == 0 ? low : high));
    REQUIRE(from_float<T>(std::nextafter(half, 0.0F)).bits == low);
    REQUIRE(from_float<T>(std::nextafter(half, std::numeric_limits<float>::infinity())).bits == high);
    REQUIRE(from_float<T>(-half).bits == (0x8000 | (low % 2 == 0 ? low : high)));
  }
}

TEST_CASE_TEMPLATE("element: random floats go to the nearest", T, Bf16, Fp16) {
  RandomStream random(1, "element");
  for (int i = 0; i < 200'000; ++i) {
    // All bits at random, so any exponent; every other one within fp16's range, subnormal numbers included.
    const float number = i % 2 == 0 ? float_of(random.bits() >> 32U)
                                    : std::ldexp(static_cast<float>(random.uniform(-1, 1)),
                                                 static_cast<int>(random.below(44)) - 27);
    INFO("bits " << detail::bits_of(number));
    if (std::isnan(number)) {
      REQUIRE(from_float<T>(number).bits == 0x7fff);
    } else {
      REQUIRE(from_float<T>(number).bits == nearest<T>(number));
    }
  }
}

TEST_CASE("element: numbers at the ends of the ranges") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(from_float<Fp16>(65504).bits == 0x7bff);  // the largest
  CHECK(from_float<Fp16>(std::nextafter(65520.0F, 0.0F)).bits == 0x7bff);
  CHECK(from_float<Fp16>(65520).bits == 0x7c00);  // halfway to 65536
  CHECK(from_float<Fp16>(-1e30F).bits == 0xfc00);
  CHECK(from_float<Fp16>(0x1p-14F).bits == 0x0400);  // the least normal number
  CHECK(from_float<Fp16>(0x1p-24F).bits == 0x0001);  // the least of all
  CHECK(from_float<Fp16>(0x1p-25F).bits == 0);       // halfway to 0
  CHECK(from_float<Fp16>(std::nextafter(0x1p-25F, 1.0F)).bits == 0x0001);
  CHECK(from_float<Fp16>(-0.0F).bits == 0x8000);
  CHECK(from_float<Fp16>(0x1p-149F).bits == 0);
  CHECK(from_float<Bf16>(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(from_float<Bf16>(-infinity).bits == 0xff80);
  CHECK(from_float<Bf16>(0x1p-133F).bits == 0x0001);  // the least of all
  CHECK(from_float<Bf16>(0x1p-134F).bits == 0);       // halfway to 0
  CHECK(from_float<Bf16>(-0x1p-149F).bits == 0x8000);
  for (const std::uint32_t nan : {0x7f800001U, 0xff800001U, 0x7fc00000U, 0xffffffffU}) {
    CHECK(from_float<Fp16>(float_of(nan)).bits == 0x7fff);
    CHECK(from_float<Bf16>(float_of(nan)).bits == 0x7fff);
  }
}

TEST_CASE("element: a float stays what it is, and the types have their names and sizes") {
  CHECK(detail::bits_of(from_float<float>(to_float(-0.0F))) == 0x80000000U);
  CHECK(to_float(0.1F) == 0.1F);
  CHECK(kElementType<Bf16> == ElementType::kBf16);
  CHECK(kElementType<Fp16> == ElementType::kFp16);
  CHECK(kElementType<float> == ElementType::kFp32);
  CHECK(bytes_of(ElementType::kBf16) == 2);
  CHECK(bytes_of(ElementType::kFp16) == 2);
  CHECK(bytes_of(ElementType::kFp32) == 4);
  CHECK(name_of(ElementType::kBf16) == std::string("bf16"));
  CHECK(name_of(ElementType::kFp16) == std::string("fp16"));
  CHECK(name_of(ElementType::kFp32) == std::string("fp32"));
}

}  // namespace goodput::gpu
