// RMS norm and layer norm of rows of bf16, forward and backward; sums in fp32. Stream-ordered, may be
// captured.
//
//   RMS    y = x / sqrt(mean(x^2) + e) w
//   layer  y = (x - mean(x)) / sqrt(var(x) + e) w + b
//
// Every row is read once: a block holds it in registers. The gradients of w and b are sums over all rows: a
// block adds up those of its rows in registers, in their order, then a second kernel adds up the blocks', in
// theirs. There are no atomics, so the same launch gives the same bits; another number of blocks adds in
// another order.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "gpu/element.h"

namespace goodput::gpu::calibrate {

enum class NormKind : std::uint8_t { kRms, kLayer };
[[nodiscard]] constexpr const char* name_of(NormKind kind) {
  return kind == NormKind::kRms ? "rms" : "layer";
}

inline constexpr float kNormEpsilon = 1e-5F;
inline constexpr std::int64_t kMostNormHidden = 8192;

struct NormShape {
  NormKind kind;
  std::int64_t tokens;  // rows
  std::int64_t hidden;  // elements of a row: a multiple of 8, at most kMostNormHidden
};

// bias and mean: of layer norm only, else null. mean and rstd, one a row, are what the backward pass needs.
struct NormForward {
  const Bf16* x;
  const Bf16* weight;
  const Bf16* bias;
  Bf16* y;
  float* mean;
  float* rstd;
};

struct NormBackward {
  const Bf16* dy;
  const Bf16* x;
  const Bf16* weight;
  const float* mean;
  const float* rstd;
  Bf16* dx;
  Bf16* d_weight;
  Bf16* d_bias;
  float* partial;  // scratch: norm_partial_elements()
};

// All throw std::invalid_argument for rows that they cannot take, and for addresses that are no multiples of
// 16 bytes. `multiprocessors`: of the device.
[[nodiscard]] std::size_t norm_partial_elements(const NormShape& shape, int multiprocessors);
void norm_forward(const NormShape& shape, const NormForward& rows, int multiprocessors, cudaStream_t stream);
void norm_backward(const NormShape& shape, const NormBackward& rows, int multiprocessors,
                   cudaStream_t stream);

}  // namespace goodput::gpu::calibrate
