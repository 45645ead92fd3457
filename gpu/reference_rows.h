// Moving rows of activations, and the gradients of that. Matrices are row-major, rows of `hidden` elements;
// T is Bf16, Fp16 or float.
//
// `positions` has top_k rows a token, -1: dropped (reference_layout.h); no two slots have the same. Sums are
// fp32 in a fixed order and every multiplication with an addition is one fused rounding (std::fma), so that a
// kernel can have the same bits. Sums begin with +0, so a row of -0 combined is +0; sums do not promise
// NaNs their payload, copies move bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/element.h"

namespace goodput::gpu::reference {

inline constexpr int kLanes = 32;  // of a warp

// send[positions[t, j]] = x[t]. Rows of `send` that no slot names stay as they are: poison must survive.
template <class T>
void scatter(const std::vector<T>& x, const std::vector<std::int32_t>& positions, int top_k, int hidden,
             std::vector<T>& send);

// grouped[rows[i]] = received[i], and back. REQUIRES: `rows` is a permutation (regroup_rows).
template <class T>
[[nodiscard]] std::vector<T> regroup(const std::vector<T>& received, const std::vector<std::int32_t>& rows,
                                     int hidden);
template <class T>
[[nodiscard]] std::vector<T> ungroup(const std::vector<T>& grouped, const std::vector<std::int32_t>& rows,
                                     int hidden);

// y[t] = sum over j of weights[t, j] * rows[positions[t, j]]: from 0, j ascending, dropped slots left out,
// rounded to T at the end. No weights: all are 1.
template <class T>
[[nodiscard]] std::vector<T> combine(const std::vector<T>& rows, const std::vector<std::int32_t>& positions,
                                     const std::vector<float>& weights, int top_k, int hidden);

// The gradient of scatter's x: combine with weights 1.
template <class T>
[[nodiscard]] std::vector<T> scatter_backward(const std::vector<T>& d_send,
                                              const std::vector<std::int32_t>& positions, int top_k,
                                              int hidden);

// The dot product as a warp computes it with 16-byte loads of V = 16 / sizeof(T) elements: element i is lane
// (i / V) % 32's; a lane adds its own in ascending order, fused, from 0; the lanes' sums are added as a
// butterfly with offsets 16, 8, 4, 2, 1.
template <class T>
[[nodiscard]] float warp_dot(const T* a, const T* b, int hidden);

template <class T>
struct CombineGradient {
  std::vector<T> d_rows;         // like rows; those that no slot names are 0
  std::vector<float> d_weights;  // tokens x top_k; 0 for dropped slots
};

// d_rows[positions[t, j]] = weights[t, j] * dy[t], a float product rounded to T;
// d_weights[t, j] = warp_dot(dy[t], rows[positions[t, j]]).
template <class T>
[[nodiscard]] CombineGradient<T> combine_backward(const std::vector<T>& dy, const std::vector<T>& rows,
                                                  const std::vector<std::int32_t>& positions,
                                                  const std::vector<float>& weights, int top_k, int hidden);

}  // namespace goodput::gpu::reference
