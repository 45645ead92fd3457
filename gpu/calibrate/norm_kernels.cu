#include <cmath>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "gpu/calibrate/norm_kernels.h"
#include "gpu/kernel.cuh"

namespace goodput::gpu::calibrate {
namespace {

constexpr int kOfVector = 8;  // elements of 16 bytes
constexpr int kForwardThreads = 1024;
constexpr int kBackwardThreads = 512;
constexpr int kForwardHeld = 1;  // vectors of a row that a thread holds
constexpr int kBackwardHeld = 2;
static_assert(kMostNormHidden == std::int64_t{kForwardHeld} * kForwardThreads * kOfVector);
static_assert(kMostNormHidden == std::int64_t{kBackwardHeld} * kBackwardThreads * kOfVector);

constexpr int kAddThreads = 256;
constexpr int kAddWarps = kAddThreads / kWarpSize;

// Sums over a block. One barrier each: places are used in turn, and no thread writes to one again before all
// have read it.
class BlockSums {
 public:
  __device__ explicit BlockSums(float* shared) : shared_(shared) {}

  // REQUIRES: all threads of the block.
  __device__ float sum(float value) {
    float* const place = next_place();
    value = warp_sum(value);
    if (lane_id() == 0) place[warp_id()] = value;
    __syncthreads();
    return total(place);
  }
  __device__ float2 sum(float a, float b) {
    float* const place = next_place();
    a = warp_sum(a);
    b = warp_sum(b);
    if (lane_id() == 0) {
      place[warp_id()] = a;
      place[kWarpSize + warp_id()] = b;
    }
    __syncthreads();
    return {total(place), total(place + kWarpSize)};
  }

  static constexpr std::size_t kSharedBytes = 2 * 2 * kWarpSize * sizeof(float);

 private:
  __device__ float* next_place() {
    turn_ ^= 1;
    return shared_ + turn_ * 2 * kWarpSize;
  }
  __device__ static float total(const float* of_warps) {
    const int warps = static_cast<int>(blockDim.x) / kWarpSize;
    return warp_sum(lane_id() < warps ? of_warps[lane_id()] : 0.0F);
  }

  float* shared_;
  int turn_ = 0;
};

// The vectors of a row that belong to this thread, two elements a word: unpacked they would take twice as
// many registers. Zeros beyond the end of the row.
template <int kHeld>
struct HeldVectors {
  uint4 at[kHeld];
};

// Element `index` of a vector.
__device__ float element(const uint4& vector, int index) {
  const unsigned word = index < 2 ? vector.x : index < 4 ? vector.y : index < 6 ? vector.z : vector.w;
  return __uint_as_float(index % 2 == 0 ? word << 16U : word & 0xffff0000U);
}

__device__ unsigned pack(float low, float high) {
  return unsigned{from_float<Bf16>(low).bits} | (unsigned{from_float<Bf16>(high).bits} << 16U);
}

__device__ void store_row(Bf16* row, int index, const float (&values)[kOfVector]) {
  const uint4 vector{pack(values[0], values[1]), pack(values[2], values[3]), pack(values[4], values[5]),
                     pack(values[6], values[7])};
  __stcs(reinterpret_cast<uint4*>(row) + index, vector);
}

__device__ int held_index(int i) {
  return static_cast<int>(threadIdx.x) + i * static_cast<int>(blockDim.x);
}

// Rows pass once; weights are asked for by every block.
enum class Reuse { kOnce, kOften };

template <Reuse kReuse, int kHeld>
__device__ HeldVectors<kHeld> load_held(const Bf16* row, int vectors) {
  HeldVectors<kHeld> held{};
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const uint4* const address = reinterpret_cast<const uint4*>(row) + held_index(i);
    if (held_index(i) < vectors) held.at[i] = kReuse == Reuse::kOnce ? __ldcs(address) : __ldg(address);
  }
  return held;
}

// From here on the compiler converts elements again rather than keep them as floats, which took so many
// registers that some were spilled.
template <int kHeld>
__device__ void keep_packed(HeldVectors<kHeld>& held) {
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    uint4& word = held.at[i];
    asm volatile("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
  }
}

struct NormSize {
  std::int64_t tokens;
  std::int64_t hidden;

  __device__ int vectors() const { return static_cast<int>(hidden) / kOfVector; }
};

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
    float sum_g = 0;
    float sum_gn = 0;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
#pragma unroll
      for (int j = 0; j < kOfVector; ++j) {
        const float d = element(held.dy.at[i], j);  // 0 beyond the end
        const float g = d * element(weight.at[i], j);
        const float n = (element(held.x.at[i], j) - held.mean) * held.rstd;
        sum_gn += g * n;
        d_weight.at[i][j] += d * n;
        if constexpr (kCentered) {
          sum_g += g;
          d_bias.at[i][j] += d;
        }
      }
    }
    float mean_g = 0;
    float mean_gn = 0;
    if constexpr (kCentered) {
      const float2 both = sums.sum(sum_g, sum_gn);
      mean_g = both.x * share;
      mean_gn = both.y * share;
    } else {
      mean_gn = sums.sum(sum_gn) * share;
    }
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
        dx[j] = held.rstd * (g - mean_g - n * mean_gn);
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

void check_rows(const NormShape& shape, std::initializer_list<const void*> addresses) {
  if (shape.hidden <= 0 || shape.hidden % kOfVector != 0 || shape.hidden > kMostNormHidden) {
    throw std::invalid_argument("norm: a row has " + std::to_string(shape.hidden) +
                                " elements, must have a multiple of 8, at most " +
                                std::to_string(kMostNormHidden));
  }
  for (const void* address : addresses) {
    if (reinterpret_cast<std::uintptr_t>(address) % sizeof(uint4) != 0)
      throw std::invalid_argument("norm: addresses must be multiples of 16 bytes");
  }
}

// As few whole warps as hold a row.
template <class Kernel>
LaunchShape norm_launch(Kernel* kernel, const NormShape& shape, int held, int multiprocessors) {
  const std::int64_t vectors = shape.hidden / kOfVector;
  const unsigned threads = blocks_for(vectors, std::int64_t{held} * kWarpSize) * kWarpSize;
  const unsigned blocks = resident_blocks(kernel, static_cast<unsigned>(shape.tokens), threads,
                                          BlockSums::kSharedBytes, multiprocessors);
  return {blocks, threads, BlockSums::kSharedBytes};
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
  check_rows(shape, {});
  return static_cast<std::size_t>(backward_launch(shape, multiprocessors).blocks * summed_columns(shape));
}

void norm_forward(const NormShape& shape, const NormForward& rows, int multiprocessors, cudaStream_t stream) {
  check_rows(shape, {rows.x, rows.weight, rows.bias, rows.y});
  const auto kernel = shape.kind == NormKind::kRms ? normalize<NormKind::kRms> : normalize<NormKind::kLayer>;
  launch(kernel, norm_launch(kernel, shape, kForwardHeld, multiprocessors), stream,
         NormSize{shape.tokens, shape.hidden}, rows);
}

void norm_backward(const NormShape& shape, const NormBackward& rows, int multiprocessors,
                   cudaStream_t stream) {
  check_rows(shape, {rows.dy, rows.x, rows.weight, rows.dx, rows.partial});
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
