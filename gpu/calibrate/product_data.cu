#include <algorithm>
#include <cstdint>

#include "gpu/calibrate/product_data.h"
#include "gpu/kernel.cuh"

namespace goodput::gpu::calibrate {
namespace {

constexpr int kFillThreads = 256;
constexpr int kCheckWarps = kFillThreads / kWarpSize;
constexpr std::int64_t kMostFillBlocks = 8192;

__device__ Bf16 element_of(std::uint64_t bits, MatrixFill fill, Bf16 /*type*/) {
  if (fill == MatrixFill::kExact) {
    return from_float<Bf16>((bits & 2U) != 0 ? -1.0F - static_cast<float>(bits & 1U)
                                             : 1.0F + static_cast<float>(bits & 1U));
  }
  // Exponents of 0.5 and of 1, 7 bits of mantissa.
  return {static_cast<std::uint16_t>(0x3f00U | (bits & 0xffU) | ((bits >> 8U & 1U) << 15U))};
}

__device__ E4m3 element_of(std::uint64_t bits, MatrixFill fill, E4m3 /*type*/) {
  if (fill == MatrixFill::kExact) {
    // 1 is 0x38, 2 is 0x40.
    return {static_cast<std::uint8_t>((0x38U + ((bits & 1U) << 3U)) | ((bits & 2U) << 6U))};
  }
  // Exponents of 0.5 and of 1, 3 bits of mantissa.
  return {static_cast<std::uint8_t>(0x30U | (bits & 0xfU) | ((bits >> 4U & 1U) << 7U))};
}

template <class T>
__global__ void __launch_bounds__(kFillThreads)
    fill_elements(T* to, std::int64_t count, MatrixFill fill, std::uint64_t seed) {
  const std::int64_t step = std::int64_t{gridDim.x} * kFillThreads;
#pragma unroll 1  // or the number of turns is divided for
  for (std::int64_t i = std::int64_t{blockIdx.x} * kFillThreads + threadIdx.x; i < count; i += step)
    to[i] = element_of(random_bits(seed, i), fill, T{});
}

// Where an operand's elements lie: element (row or column, i of the sum).
struct Steps {
  std::int64_t outer;
  std::int64_t inner;
};

// `part` 32-bit parts of `whole`, without a division.
__device__ std::int64_t share_of(std::uint64_t part, std::int64_t whole) {
  return static_cast<std::int64_t>(((part & 0xffffffffU) * static_cast<std::uint64_t>(whole)) >> 32U);
}

struct Place {
  std::int64_t row;
  std::int64_t column;
};

__device__ Place place_of(unsigned sample, const GemmShape& shape, bool all) {
  if (all) {
    const auto columns = static_cast<unsigned>(shape.n);
    return {std::int64_t{sample / columns}, std::int64_t{sample % columns}};
  }
  if (sample < 4) {
    return {(sample & 1U) != 0 ? shape.m - 1 : 0, (sample & 2U) != 0 ? shape.n - 1 : 0};
  }
  const std::uint64_t bits = random_bits(0, sample);
  return {share_of(bits, shape.m), share_of(bits >> 32U, shape.n)};
}

// A warp a sample.
__global__ void __launch_bounds__(kFillThreads)
    check_products(ExactProduct expected, Steps a, Steps b, const Bf16* y, unsigned samples, bool all,
                   unsigned long long* wrong) {
  const unsigned sample = blockIdx.x * kCheckWarps + static_cast<unsigned>(warp_id());
  if (sample >= samples) return;  // a whole warp
  const Place place = place_of(sample, expected.shape, all);
  int sum = 0;
  for (std::int64_t i = lane_id(); i < expected.shape.k; i += kWarpSize) {
    sum += exact_value(expected.seed_a, expected.first_a + place.row * a.outer + i * a.inner) *
           exact_value(expected.seed_b, expected.first_b + place.column * b.outer + i * b.inner);
  }
  sum = warp_sum(sum);
  const float found = to_float(y[place.row * expected.shape.n + place.column]);
  // A NaN equals nothing.
  if (lane_id() == 0 && !(found == to_float(from_float<Bf16>(static_cast<float>(sum)))))
    atomicAdd(wrong, 1ULL);
}

template <class T>
void fill_as(void* to, std::int64_t count, MatrixFill fill, std::uint64_t seed, cudaStream_t stream) {
  const auto blocks = std::min<std::int64_t>(blocks_for(count, kFillThreads), kMostFillBlocks);
  launch(fill_elements<T>, {static_cast<unsigned>(blocks), kFillThreads}, stream, static_cast<T*>(to), count,
         fill, seed);
}

}  // namespace

void fill_matrix(void* to, MatrixType type, std::int64_t count, MatrixFill fill, std::uint64_t seed,
                 cudaStream_t stream) {
  if (type == MatrixType::kBf16) return fill_as<Bf16>(to, count, fill, seed, stream);
  fill_as<E4m3>(to, count, fill, seed, stream);
}

std::uint64_t count_wrong_products(const ExactProduct& expected, const Bf16* y, const Stream& stream) {
  const GemmShape& shape = expected.shape;
  const Steps a = shape.layout == OperandLayout::kWgrad ? Steps{1, shape.m} : Steps{shape.k, 1};
  const Steps b = shape.layout == OperandLayout::kForward ? Steps{shape.k, 1} : Steps{1, shape.n};
  const bool all = shape.m * shape.n <= kProductSamples;
  const auto samples = static_cast<unsigned>(all ? shape.m * shape.n : kProductSamples);
  DeviceBuffer<unsigned long long> wrong(1);
  PinnedBuffer<unsigned long long> result(1);
  GOODPUT_CUDA(cudaMemsetAsync(wrong.data(), 0, sizeof(unsigned long long), stream.get()));
  launch(check_products, {blocks_for(samples, kCheckWarps), kFillThreads}, stream.get(), expected, a, b, y,
         samples, all, wrong.data());
  GOODPUT_CUDA(cudaMemcpyAsync(result.data(), wrong.data(), sizeof(unsigned long long),
                               cudaMemcpyDeviceToHost, stream.get()));
  stream.synchronize();
  return *result.data();
}

}  // namespace goodput::gpu::calibrate
