#include "gpu/reference_rows.h"

#include <array>
#include <cmath>
#include <cstdint>

namespace goodput::gpu::reference {
namespace {

// Where row `row` begins.
std::size_t begin_of(std::int64_t row, int hidden) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(hidden);
}

template <class T>
void copy_row(const std::vector<T>& from, std::int64_t from_row, std::vector<T>& to, std::int64_t to_row,
              int hidden) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(hidden); ++i)
    to[begin_of(to_row, hidden) + i] = from[begin_of(from_row, hidden) + i];
}

float weight_of(const std::vector<float>& weights, std::size_t slot) {
  return weights.empty() ? 1.0F : weights[slot];
}

std::int64_t token_of(std::size_t slot, int top_k) {
  return static_cast<std::int64_t>(slot) / top_k;
}

}  // namespace

template <class T>
void scatter(const std::vector<T>& x, const std::vector<std::int32_t>& positions, int top_k, int hidden,
             std::vector<T>& send) {
  for (std::size_t slot = 0; slot < positions.size(); ++slot)
    if (positions[slot] >= 0) copy_row(x, token_of(slot, top_k), send, positions[slot], hidden);
}

template <class T>
std::vector<T> regroup(const std::vector<T>& received, const std::vector<std::int32_t>& rows, int hidden) {
  std::vector<T> grouped(received.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    copy_row(received, static_cast<std::int64_t>(i), grouped, rows[i], hidden);
  return grouped;
}

template <class T>
std::vector<T> ungroup(const std::vector<T>& grouped, const std::vector<std::int32_t>& rows, int hidden) {
  std::vector<T> received(grouped.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    copy_row(grouped, rows[i], received, static_cast<std::int64_t>(i), hidden);
  return received;
}

template <class T>
std::vector<T> combine(const std::vector<T>& rows, const std::vector<std::int32_t>& positions,
                       const std::vector<float>& weights, int top_k, int hidden) {
  const auto choices = static_cast<std::size_t>(top_k);
  const auto width = static_cast<std::size_t>(hidden);
  std::vector<T> y;
  y.reserve(positions.size() / choices * width);
  for (std::size_t first = 0; first < positions.size(); first += choices) {
    std::vector<float> sum(width, 0.0F);
    for (std::size_t slot = first; slot < first + choices; ++slot) {
      if (positions[slot] < 0) continue;
      const T* row = rows.data() + begin_of(positions[slot], hidden);
      for (std::size_t i = 0; i < width; ++i)
        sum[i] = std::fma(weight_of(weights, slot), to_float(row[i]), sum[i]);
    }
    for (const float element : sum) y.push_back(from_float<T>(element));
  }
  return y;
}

template <class T>
std::vector<T> scatter_backward(const std::vector<T>& d_send, const std::vector<std::int32_t>& positions,
                                int top_k, int hidden) {
  return combine(d_send, positions, {}, top_k, hidden);
}

template <class T>
float warp_dot(const T* a, const T* b, int hidden) {
  constexpr int kElements = 16 / static_cast<int>(sizeof(T));
  std::array<float, kLanes> sums{};
  for (int i = 0; i < hidden; ++i) {
    float& sum = sums[static_cast<std::size_t>(i / kElements % kLanes)];
    sum = std::fma(to_float(a[i]), to_float(b[i]), sum);
  }
  for (const std::size_t offset : {16U, 8U, 4U, 2U, 1U}) {
    const std::array<float, kLanes> before = sums;
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] = before[lane] + before[lane ^ offset];
  }
  return sums[0];
}

template <class T>
CombineGradient<T> combine_backward(const std::vector<T>& dy, const std::vector<T>& rows,
                                    const std::vector<std::int32_t>& positions,
                                    const std::vector<float>& weights, int top_k, int hidden) {
  CombineGradient<T> gradient = {std::vector<T>(rows.size()), std::vector<float>(positions.size(), 0.0F)};
  for (std::size_t slot = 0; slot < positions.size(); ++slot) {
    if (positions[slot] < 0) continue;
    const T* dy_row = dy.data() + begin_of(token_of(slot, top_k), hidden);
    const std::size_t first = begin_of(positions[slot], hidden);
    gradient.d_weights[slot] = warp_dot(dy_row, rows.data() + first, hidden);
    for (std::size_t i = 0; i < static_cast<std::size_t>(hidden); ++i) {
      const float product = weight_of(weights, slot) * to_float(dy_row[i]);
      gradient.d_rows[first + i] = from_float<T>(product);
    }
  }
  return gradient;
}

#define GOODPUT_INSTANTIATE(T)                                                                              \
  template void scatter<T>(const std::vector<T>&, const std::vector<std::int32_t>&, int, int,               \
                           std::vector<T>&);                                                                \
  template std::vector<T> regroup<T>(const std::vector<T>&, const std::vector<std::int32_t>&, int);         \
  template std::vector<T> ungroup<T>(const std::vector<T>&, const std::vector<std::int32_t>&, int);         \
  template std::vector<T> combine<T>(const std::vector<T>&, const std::vector<std::int32_t>&,               \
                                     const std::vector<float>&, int, int);                                  \
  template std::vector<T> scatter_backward<T>(const std::vector<T>&, const std::vector<std::int32_t>&, int, \
                                              int);                                                         \
  template float warp_dot<T>(const T*, const T*, int);                                                      \
  template CombineGradient<T> combine_backward<T>(const std::vector<T>&, const std::vector<T>&,             \
                                                  const std::vector<std::int32_t>&,                         \
                                                  const std::vector<float>&, int, int)
GOODPUT_INSTANTIATE(Bf16);
GOODPUT_INSTANTIATE(Fp16);
GOODPUT_INSTANTIATE(float);
#undef GOODPUT_INSTANTIATE

}  // namespace goodput::gpu::reference
