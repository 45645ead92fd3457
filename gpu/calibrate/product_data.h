// What matrices are filled with, known element by element from where it lies, and a check of products of it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/calibrate/e4m3.h"
#include "gpu/calibrate/matmul.h"
#include "gpu/device_memory.h"
#include "gpu/element.h"

namespace goodput::gpu::calibrate {

enum class MatrixFill : std::uint8_t {
  // -2, -1, 1 or 2: every sum of up to 2^22 products is exact in fp32, whatever its order.
  kExact,
  // Any sign, magnitude in [0.5, 2), all bits of the mantissa random: what is timed. Multiplying small
  // integers takes less power, and a GPU that is short of power would run faster than it does in training.
  kDense,
};

// As bench::payload(), but equal distances between seeds do not make equal data.
GOODPUT_HOST_DEVICE inline std::uint64_t random_bits(std::uint64_t seed, std::int64_t index) {
  // The output function of SplitMix64 (Steele, Lea and Flood, 2014).
  std::uint64_t z = (seed << 44U) + static_cast<std::uint64_t>(index) + 1;
  z *= 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

// Element `index` of a matrix of kExact.
GOODPUT_HOST_DEVICE inline int exact_value(std::uint64_t seed, std::int64_t index) {
  const std::uint64_t bits = random_bits(seed, index);
  const int magnitude = 1 + static_cast<int>(bits & 1U);
  return (bits & 2U) != 0 ? -magnitude : magnitude;
}

// `count` elements of the type, from element 0 on.
void fill_matrix(void* to, MatrixType type, std::int64_t count, MatrixFill fill, std::uint64_t seed,
                 cudaStream_t stream);

// A product of two matrices of kExact.
struct ExactProduct {
  GemmShape shape;
  std::uint64_t seed_a;
  std::uint64_t seed_b;
  std::int64_t first_a = 0;  // elements of the filled matrix in front of the operand
  std::int64_t first_b = 0;
};

// Elements of a product that are looked at: all of a small one, else its corners and others at random.
inline constexpr int kProductSamples = 4096;

// How many of those of `y` are not the exact sum, rounded to bf16 once. Waits for the stream.
// REQUIRES: k <= 2^22; m, n < 2^31.
std::uint64_t count_wrong_products(const ExactProduct& expected, const Bf16* y, const Stream& stream);

}  // namespace goodput::gpu::calibrate
