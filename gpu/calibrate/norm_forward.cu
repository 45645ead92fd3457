#include <cmath>
#include <cstdint>

#include "gpu/calibrate/norm_kernels.h"
#include "gpu/calibrate/norm_rows.cuh"

namespace goodput::gpu::calibrate {
namespace {

constexpr int kForwardThreads = 1024;
constexpr int kForwardHeld = 1;  // vectors of a row that a thread holds
static_assert(kMostNormHidden == std::int64_t{kForwardHeld} * kForwardThreads * kOfVector);

// A block a row, one after another.
template <NormKind kKind>
__global__ void __launch_bounds__(kForwardThreads, 2) normalize(NormSize size, NormForward rows) {
  constexpr int kHeld = kForwardHeld;
  constexpr bool kCentered = kKind == NormKind::kLayer;
  BlockSums sums(dynamic_shared<float>());
  const int vectors = size.vectors();
  const float share = 1.0F / static_cast<float>(size.hidden);
  HeldVectors<kHeld> weight = load_held<Reuse::kOften, kHeld>(rows.weight, vectors);
  HeldVectors<kHeld> bias{};
  if constexpr (kCentered) bias = load_held<Reuse::kOften, kHeld>(rows.bias, vectors);

  for (std::int64_t row = blockIdx.x; row < size.tokens; row += gridDim.x) {
    HeldVectors<kHeld> x = load_held<Reuse::kOnce, kHeld>(rows.x + row * size.hidden, vectors);
    float mean = 0;
    if constexpr (kCentered) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < kHeld; ++i) {
#pragma unroll
        for (int j = 0; j < kOfVector; ++j) sum += element(x.at[i], j);
      }
      mean = sums.sum(sum) * share;
      keep_packed(x);
      keep_packed(bias);
    }
    keep_packed(weight);
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      if (held_index(i) >= vectors) continue;
#pragma unroll
      for (int j = 0; j < kOfVector; ++j) {
        const float centered = element(x.at[i], j) - mean;
        squares += centered * centered;
      }
    }
    const float rstd = 1.0F / sqrtf(sums.sum(squares) * share + kNormEpsilon);
    keep_packed(x);
    if (threadIdx.x == 0) {
      rows.rstd[row] = rstd;
      if constexpr (kCentered) rows.mean[row] = mean;
    }
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      if (held_index(i) >= vectors) continue;
      float y[kOfVector];
#pragma unroll
      for (int j = 0; j < kOfVector; ++j) {
        const float normal = (element(x.at[i], j) - mean) * rstd;
        y[j] = normal * element(weight.at[i], j) + element(bias.at[i], j);
      }
      store_row(rows.y + row * size.hidden, held_index(i), y);
    }
  }
}

}  // namespace

void norm_forward(const NormShape& shape, const NormForward& rows, int multiprocessors, cudaStream_t stream) {
  check_norm_rows(shape, {rows.x, rows.weight, rows.bias, rows.y});
  const auto kernel = shape.kind == NormKind::kRms ? normalize<NormKind::kRms> : normalize<NormKind::kLayer>;
  launch(kernel, norm_launch(kernel, shape, kForwardHeld, multiprocessors), stream,
         NormSize{shape.tokens, shape.hidden}, rows);
}

}  // namespace goodput::gpu::calibrate
