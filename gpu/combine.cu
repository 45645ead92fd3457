#include <cstdint>
#include <initializer_list>
#include <stdexcept>

#include "gpu/combine.h"
#include "gpu/dispatch_shape.h"
#include "gpu/kernel.cuh"
#include "gpu/vector16.cuh"

namespace goodput::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpSize;

// What belongs to a token, the same in all lanes.
template <int kChoices>
struct Choices {
  std::int32_t row[kChoices];  // negative: none
  float weight[kChoices];
};

template <int kChoices>
__device__ Choices<kChoices> choices_of(std::int64_t token, std::int32_t top_k, const std::int32_t* positions,
                                        const float* weights) {
  Choices<kChoices> choices;
#pragma unroll
  for (int j = 0; j < kChoices; ++j) {
    choices.row[j] = j < top_k ? __ldg(positions + token * top_k + j) : -1;
    choices.weight[j] = j < top_k && weights != nullptr ? __ldg(weights + token * top_k + j) : 1.0F;
  }
  return choices;
}

// A warp a token; the rows of all choices are on their way before the first is used.
template <class T, int kChoices, Access kAccess>
__global__ void __launch_bounds__(kThreads)
    combine(const T* __restrict__ rows, const float* __restrict__ weights,
            const std::int32_t* __restrict__ positions, std::int64_t tokens, std::int32_t top_k,
            std::int64_t hidden, T* __restrict__ y) {
  constexpr int kSize = Vector16<T>::kSize;
  const std::int64_t vectors = (hidden + kSize - 1) / kSize;
  const std::int64_t step = std::int64_t{gridDim.x} * kWarps;
  for (std::int64_t token = std::int64_t{blockIdx.x} * kWarps + warp_id(); token < tokens; token += step) {
    const Choices<kChoices> choices = choices_of<kChoices>(token, top_k, positions, weights);
    for (std::int64_t at = lane_id(); at < vectors; at += kWarpSize) {
      Vector16<T> row[kChoices];
#pragma unroll
      for (int j = 0; j < kChoices; ++j) {
        if (choices.row[j] >= 0) row[j] = load_vector<kAccess>(rows + choices.row[j] * hidden, at, hidden);
      }
      float sum[kSize] = {};
#pragma unroll
      for (int j = 0; j < kChoices; ++j) {
        if (choices.row[j] < 0) continue;
#pragma unroll
        for (int i = 0; i < kSize; ++i) sum[i] = __fmaf_rn(choices.weight[j], to_float(row[j].at[i]), sum[i]);
      }
      Vector16<T> result;
#pragma unroll
      for (int i = 0; i < kSize; ++i) result.at[i] = from_float<T>(sum[i]);
      store_vector<kAccess>(y + token * hidden, at, hidden, result);
    }
  }
}

// A warp a token. dy is read once; every row is read and its gradient written once.
template <class T, int kChoices, Access kAccess>
__global__ void __launch_bounds__(kThreads, 2)
    combine_backward(const T* __restrict__ dy, const T* __restrict__ rows, const float* __restrict__ weights,
                     const std::int32_t* __restrict__ positions, std::int64_t tokens, std::int32_t top_k,
                     std::int64_t hidden, T* __restrict__ d_rows, float* __restrict__ d_weights) {
  constexpr int kSize = Vector16<T>::kSize;
  constexpr int kInFlight = kChoices < 4 ? kChoices : 4;  // rows read before the first is used
  const std::int64_t vectors = (hidden + kSize - 1) / kSize;
  const std::int64_t step = std::int64_t{gridDim.x} * kWarps;
  for (std::int64_t token = std::int64_t{blockIdx.x} * kWarps + warp_id(); token < tokens; token += step) {
    const Choices<kChoices> choices = choices_of<kChoices>(token, top_k, positions, weights);
    float dot[kChoices] = {};
    for (std::int64_t at = lane_id(); at < vectors; at += kWarpSize) {
      const Vector16<T> gradient = load_vector<kAccess>(dy + token * hidden, at, hidden);
#pragma unroll
      for (int first = 0; first < kChoices; first += kInFlight) {
        Vector16<T> row[kInFlight];
#pragma unroll
        for (int j = 0; j < kInFlight; ++j) {
          const std::int32_t place = choices.row[first + j];
          if (place >= 0) row[j] = load_vector<kAccess>(rows + place * hidden, at, hidden);
        }
#pragma unroll
        for (int j = 0; j < kInFlight; ++j) {
          if (choices.row[first + j] < 0) continue;
          Vector16<T> d_row;
#pragma unroll
          for (int i = 0; i < kSize; ++i) {
            const float g = to_float(gradient.at[i]);
            dot[first + j] = __fmaf_rn(g, to_float(row[j].at[i]), dot[first + j]);
            d_row.at[i] = from_float<T>(__fmul_rn(choices.weight[first + j], g));
          }
          store_vector<kAccess>(d_rows + choices.row[first + j] * hidden, at, hidden, d_row);
        }
      }
    }
#pragma unroll
    for (int j = 0; j < kChoices; ++j) {
      const float all = warp_sum(dot[j]);
      if (lane_id() == 0 && j < top_k) d_weights[token * top_k + j] = all;
    }
  }
}

template <class Kernel>
LaunchShape shape_for(Kernel* kernel, std::int64_t tokens, const CopyDevice& device) {
  return {resident_blocks(kernel, blocks_for(tokens, kWarps), kThreads, 0, device.multiprocessors), kThreads};
}

Access access_of(const TokenRows& shape, std::initializer_list<const void*> addresses) {
  check_top_k("combine", shape.top_k);
  const std::size_t element = bytes_of(shape.element);
  bool aligned = static_cast<std::size_t>(shape.hidden) * element % 16 == 0;
  for (const void* address : addresses) {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    if (value % element != 0) {
      throw std::invalid_argument("combine: addresses must be multiples of the element size");
    }
    aligned = aligned && value % 16 == 0;
  }
  return aligned ? Access::kVector : Access::kElement;
}

// An instance of the kernels, as a value.
template <class T, int kMostChoices, Access kHow>
struct Variant {
  using Element = T;
  static constexpr int kChoices = kMostChoices;
  static constexpr Access kAccess = kHow;
};

// Calls `use` with the instance for the shape: 1, 2, 4 or 8 choices the vector way, 8 the slow way.
template <class T, class Use>
void use_variant_of(std::int32_t top_k, Access access, const Use& use) {
  if (access == Access::kElement) {
    use(Variant<T, kMaxTopK, Access::kElement>{});
  } else if (top_k == 1) {
    use(Variant<T, 1, Access::kVector>{});
  } else if (top_k == 2) {
    use(Variant<T, 2, Access::kVector>{});
  } else if (top_k <= 4) {
    use(Variant<T, 4, Access::kVector>{});
  } else {
    use(Variant<T, kMaxTopK, Access::kVector>{});
  }
}

template <class Use>
void use_variant(const TokenRows& shape, Access access, const Use& use) {
  switch (shape.element) {
    case ElementType::kBf16:
      return use_variant_of<Bf16>(shape.top_k, access, use);
    case ElementType::kFp16:
      return use_variant_of<Fp16>(shape.top_k, access, use);
    case ElementType::kFp32:
      return use_variant_of<float>(shape.top_k, access, use);
  }
}

}  // namespace

void combine_rows(const TokenRows& shape, const void* rows, const float* weights, void* y,
                  const CopyDevice& device, cudaStream_t stream) {
  use_variant(shape, access_of(shape, {rows, y}), [&](auto variant) {
    using V = decltype(variant);
    using T = typename V::Element;
    const auto kernel = combine<T, V::kChoices, V::kAccess>;
    launch(kernel, shape_for(kernel, shape.tokens, device), stream, static_cast<const T*>(rows), weights,
           shape.positions, shape.tokens, shape.top_k, std::int64_t{shape.hidden}, static_cast<T*>(y));
  });
}

void combine_rows_backward(const TokenRows& shape, const void* dy, const void* rows, const float* weights,
                           void* d_rows, float* d_weights, const CopyDevice& device, cudaStream_t stream) {
  use_variant(shape, access_of(shape, {dy, rows, d_rows}), [&](auto variant) {
    using V = decltype(variant);
    using T = typename V::Element;
    const auto kernel = combine_backward<T, V::kChoices, V::kAccess>;
    launch(kernel, shape_for(kernel, shape.tokens, device), stream, static_cast<const T*>(dy),
           static_cast<const T*>(rows), weights, shape.positions, shape.tokens, shape.top_k,
           std::int64_t{shape.hidden}, static_cast<T*>(d_rows), d_weights);
  });
}

}  // namespace goodput::gpu
