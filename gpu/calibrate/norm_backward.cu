#include "gpu/calibrate/norm_kernels.h"
#include "gpu/calibrate/norm_rows.cuh"

namespace goodput::gpu::calibrate {
namespace {

constexpr int kBackwardThreads = 512;
constexpr int kBackwardHeld = 2;  // vectors of a row that a thread holds
static_assert(kMostNormHidden == std::int64_t{kBackwardHeld} * kBackwardThreads * kOfVector);

constexpr int kAddThreads = 256;
constexpr int kAddWarps = kAddThreads / kWarpSize;

// A thread's part of a row and of its gradient, with what the row was normalized by.
struct HeldGradients {
  HeldVectors<kBackwardHeld> x;
  HeldVectors<kBackwardHeld> dy;
  float mean;
  float rstd;
};

// Zeros where there is no such row.
template <NormKind kKind>
__device__ HeldGradients load_gradients(const NormBackward& rows, std::int64_t row, const NormSize& size) {
  HeldGradients held{};
  if (row >= size.tokens) return held;
  held.x = load_held<Reuse::kOnce, kBackwardHeld>(rows.x + row * size.hidden, size.vectors());
  held.dy = load_held<Reuse::kOnce, kBackwardHeld>(rows.dy + row * size.hidden, size.vectors());
  held.rstd = __ldg(rows.rstd + row);
  if constexpr (kKind == NormKind::kLayer) held.mean = __ldg(rows.mean + row);
  return held;
}

// What a thread's elements add up to over the rows of its block.
struct HeldSums {
  float at[kBackwardHeld][kOfVector];
};

__device__ void store_sums(float* to, int vectors, const HeldSums& sums) {
#pragma unroll
  for (int i = 0; i < kBackwardHeld; ++i) {
    if (held_index(i) >= vectors) continue;
    auto* const address = reinterpret_cast<float4*>(to) + 2 * held_index(i);
    address[0] = {sums.at[i][0], sums.at[i][1], sums.at[i][2], sums.at[i][3]};
    address[1] = {sums.at[i][4], sums.at[i][5], sums.at[i][6], sums.at[i][7]};
  }
}

// Adds the row to the gradients of w and b; the thread's sums of g = dy w and of g n.
template <NormKind kKind>
__device__ float2 add_row(const HeldGradients& held, const HeldVectors<kBackwardHeld>& weight,
                          HeldSums& d_weight, HeldSums& d_bias) {
  float2 sum{};
#pragma unroll
  for (int i = 0; i < kBackwardHeld; ++i) {
#pragma unroll
    for (int j = 0; j < kOfVector; ++j) {
      const float d = element(held.dy.at[i], j);  // 0 beyond the end
      const float g = d * element(weight.at[i], j);
      const float n = (element(held.x.at[i], j) - held.mean) * held.rstd;
      sum.y += g * n;
      d_weight.at[i][j] += d * n;
      if constexpr (kKind == NormKind::kLayer) {
        sum.x += g;
        d_bias.at[i][j] += d;
      }
    }
  }
  return sum;
}

// A block a row, one after another, the next on its way while one is worked on: there is one block a
// multiprocessor where rows are long. With n = (x - mean) rstd and g = dy w:
// dx = rstd (g - mean(g) - n mean(g n)), for RMS without mean(g); dw adds up dy n, db adds up dy.
template <NormKind kKind>
__global__ void __launch_bounds__(kBackwardThreads) normalize_backward(NormSize size, NormBackward rows) {
  constexpr int kHeld = kBackwardHeld;
  constexpr bool kCentered = kKind == NormKind::kLayer;
  BlockSums sums(dynamic_shared<float>());
  const int vectors = size.vectors();
  const float share = 1.0F / static_cast<float>(size.hidden);
  HeldSums d_weight{};
  HeldSums d_bias{};

  HeldGradients held = load_gradients<kKind>(rows, blockIdx.x, size);
  for (std::int64_t row = blockIdx.x; row < size.tokens; row += gridDim.x) {
    const HeldGradients next = load_gradients<kKind>(rows, row + gridDim.x, size);
    HeldVectors<kHeld> weight = load_held<Reuse::kOften, kHeld>(rows.weight, vectors);
    const float2 of_thread = add_row<kKind>(held, weight, d_weight, d_bias);
    float2 mean{};  // of g and of g n
    if constexpr (kCentered) {
      mean = sums.sum(of_thread.x, of_thread.y);
    } else {
      mean.y = sums.sum(of_thread.y);
    }
    mean = {mean.x * share, mean.y * share};
    keep_packed(held.x);
    keep_packed(held.dy);
    keep_packed(weight);
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      if (held_index(i) >= vectors) continue;
      float dx[kOfVector];
#pragma unroll
      for (int j = 0; j < kOfVector; ++j) {
        const float g = element(held.dy.at[i], j) * element(weight.at[i], j);
        const float n = (element(held.x.at[i], j) - held.mean) * held.rstd;
        dx[j] = held.rstd * (g - mean.x - n * mean.y);
      }
      store_row(rows.dx + row * size.hidden, held_index(i), dx);
    }
    held = next;
  }

  constexpr int kSums = kCentered ? 2 : 1;
  float* const partial = rows.partial + std::int64_t{blockIdx.x} * kSums * size.hidden;
  store_sums(partial, vectors, d_weight);
  if constexpr (kCentered) store_sums(partial + size.hidden, vectors, d_bias);
}

// Sums of columns: a lane a column, warps take rows in turn; then the warps' sums, in their order.
__global__ void __launch_bounds__(kAddThreads)
    add_partials(const float* __restrict__ partial, int blocks, int columns, int hidden,
                 Bf16* __restrict__ d_weight, Bf16* __restrict__ d_bias) {
  auto* const of_warps = dynamic_shared<float>();
  const int column = static_cast<int>(blockIdx.x) * kWarpSize + lane_id();
  float sum = 0;
  if (column < columns) {
#pragma unroll 8
    for (int row = warp_id(); row < blocks; row += kAddWarps)
      sum += __ldcg(partial + std::int64_t{row} * columns + column);
  }
  of_warps[warp_id() * kWarpSize + lane_id()] = sum;
  __syncthreads();
  if (warp_id() != 0 || column >= columns) return;
  for (int warp = 1; warp < kAddWarps; ++warp) sum += of_warps[warp * kWarpSize + lane_id()];
  if (column < hidden) {
    d_weight[column] = from_float<Bf16>(sum);
  } else {
    d_bias[column - hidden] = from_float<Bf16>(sum);
  }
}

LaunchShape backward_launch(const NormShape& shape, int multiprocessors) {
  const auto kernel = shape.kind == NormKind::kRms ? normalize_backward<NormKind::kRms>
                                                   : normalize_backward<NormKind::kLayer>;
  return norm_launch(kernel, shape, kBackwardHeld, multiprocessors);
}

std::int64_t summed_columns(const NormShape& shape) {
  return shape.kind == NormKind::kRms ? shape.hidden : 2 * shape.hidden;
}

}  // namespace

std::size_t norm_partial_elements(const NormShape& shape, int multiprocessors) {
  check_norm_rows(shape, {});
  return static_cast<std::size_t>(backward_launch(shape, multiprocessors).blocks * summed_columns(shape));
}

void norm_backward(const NormShape& shape, const NormBackward& rows, int multiprocessors,
                   cudaStream_t stream) {
  check_norm_rows(shape, {rows.dy, rows.x, rows.weight, rows.dx, rows.partial});
  const auto kernel = shape.kind == NormKind::kRms ? normalize_backward<NormKind::kRms>
                                                   : normalize_backward<NormKind::kLayer>;
  const LaunchShape at = backward_launch(shape, multiprocessors);
  launch(kernel, at, stream, NormSize{shape.tokens, shape.hidden}, rows);
  const std::int64_t columns = summed_columns(shape);
  launch(add_partials, {blocks_for(columns, kWarpSize), kAddThreads, kAddThreads * sizeof(float)}, stream,
         static_cast<const float*>(rows.partial), static_cast<int>(at.blocks), static_cast<int>(columns),
         static_cast<int>(shape.hidden), rows.d_weight, rows.d_bias);
}

}  // namespace goodput::gpu::calibrate
