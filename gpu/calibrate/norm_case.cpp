#include "gpu/calibrate/norm_case.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gpu/bench/payload.h"
#include "gpu/calibrate/norm_reference.h"
#include "gpu/calibrate/product_data.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr std::uint64_t kSeedWeight = 1'000'000;
constexpr std::uint64_t kSeedBias = kSeedWeight + 1;
constexpr std::int64_t kLookedAt = 16;  // rows, and columns

std::uint64_t seed_x(std::size_t set) {
  return 2 * set;
}
std::uint64_t seed_dy(std::size_t set) {
  return 2 * set + 1;
}

// Elements [first, first + count) of a payload, as they are in a buffer.
std::vector<double> payload_values(std::uint64_t seed, std::int64_t first, std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = first; i < first + count; ++i)
    values.push_back(double{to_float(bench::payload(seed, i))});
  return values;
}

// All where there are few, else the first, the last and others.
std::vector<std::int64_t> looked_at(std::int64_t count) {
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < std::min(count, kLookedAt); ++i) {
    const auto any = static_cast<std::int64_t>(random_bits(0, i) % static_cast<std::uint64_t>(count));
    chosen.push_back(count <= kLookedAt || i == 0 ? i : i == 1 ? count - 1 : any);
  }
  return chosen;
}

int multiprocessors_here() {
  int device = 0;
  int count = 0;
  GOODPUT_CUDA(cudaGetDevice(&device));
  GOODPUT_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

template <class T>
void poison(DeviceBuffer<T>& buffer, cudaStream_t stream) {
  if (buffer.size() == 0) return;
  GOODPUT_CUDA(cudaMemsetAsync(buffer.data(), bench::kPoisonByte, buffer.size() * sizeof(T), stream));
}

}  // namespace

std::int64_t norm_bytes(const NormShape& shape, NormPass pass) {
  const int rows = pass == NormPass::kForward ? 2 : 3;
  return rows * shape.tokens * shape.hidden * static_cast<std::int64_t>(sizeof(Bf16));
}

NormCase::NormCase(const NormShape& shape, NormPass pass, int sets, cudaStream_t stream)
    : shape_(shape),
      pass_(pass),
      multiprocessors_(multiprocessors_here()),
      sets_(static_cast<std::size_t>(sets)),
      weight_(static_cast<std::size_t>(shape.hidden)) {
  const auto elements = static_cast<std::size_t>(shape.tokens * shape.hidden);
  const auto hidden = static_cast<std::size_t>(shape.hidden);
  const auto tokens = static_cast<std::size_t>(shape.tokens);
  const bool is_layer = shape.kind == NormKind::kLayer;
  bench::fill_payload(weight_.data(), shape.hidden, kSeedWeight, stream);
  if (is_layer) {
    bias_ = DeviceBuffer<Bf16>(hidden);
    bench::fill_payload(bias_.data(), shape.hidden, kSeedBias, stream);
  }
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    Set& set = sets_[i];
    set = {DeviceBuffer<Bf16>(elements),
           {},
           DeviceBuffer<Bf16>(elements),
           DeviceBuffer<float>(is_layer ? tokens : 0),
           DeviceBuffer<float>(tokens)};
    bench::fill_payload(set.x.data(), shape.tokens * shape.hidden, seed_x(i), stream);
    if (pass == NormPass::kForward) continue;
    set.dy = DeviceBuffer<Bf16>(elements);
    bench::fill_payload(set.dy.data(), shape.tokens * shape.hidden, seed_dy(i), stream);
    forward(set, stream);
  }
  if (pass == NormPass::kForward) return;
  d_weight_ = DeviceBuffer<Bf16>(hidden);
  if (is_layer) d_bias_ = DeviceBuffer<Bf16>(hidden);
  partial_ = DeviceBuffer<float>(norm_partial_elements(shape, multiprocessors_));
}

void NormCase::forward(Set& set, cudaStream_t stream) {
  norm_forward(
      shape_,
      {set.x.data(), weight_.data(), bias_.data(), set.result.data(), set.mean.data(), set.rstd.data()},
      multiprocessors_, stream);
}

void NormCase::run(int index, cudaStream_t stream) {
  Set& set = sets_.at(static_cast<std::size_t>(index));
  if (pass_ == NormPass::kForward) return forward(set, stream);
  norm_backward(shape_,
                {set.dy.data(), set.x.data(), weight_.data(), set.mean.data(), set.rstd.data(),
                 set.result.data(), d_weight_.data(), d_bias_.data(), partial_.data()},
                multiprocessors_, stream);
}

std::uint64_t NormCase::count_wrong(const Stream& stream) {
  poison(sets_[0].result, stream.get());
  poison(d_weight_, stream.get());
  poison(d_bias_, stream.get());
  run(0, stream.get());
  stream.synchronize();
  return count_wrong_rows() + (pass_ == NormPass::kForward ? 0 : count_wrong_sums());
}

std::uint64_t NormCase::count_wrong_rows() const {
  const std::int64_t hidden = shape_.hidden;
  const std::vector<double> weight = payload_values(kSeedWeight, 0, hidden);
  const std::vector<double> bias = shape_.kind == NormKind::kLayer
                                       ? payload_values(kSeedBias, 0, hidden)
                                       : std::vector<double>(static_cast<std::size_t>(hidden));
  std::uint64_t wrong = 0;
  for (const std::int64_t row : looked_at(shape_.tokens)) {
    const NormedRow normed = reference_norm(shape_.kind, payload_values(seed_x(0), row * hidden, hidden));
    const std::vector<double> expected =
        pass_ == NormPass::kForward
            ? reference_norm_forward(normed, weight, bias)
            : reference_norm_backward(shape_.kind, normed, weight,
                                      payload_values(seed_dy(0), row * hidden, hidden));
    const std::vector<Bf16> found =
        download(sets_[0].result.data() + row * hidden, static_cast<std::size_t>(hidden));
    for (std::size_t i = 0; i < found.size(); ++i)
      wrong += is_normed_right(double{to_float(found[i])}, expected[i]) ? 0 : 1;
  }
  return wrong;
}

// By the means and deviations that the forward pass left, which are those of the rows.
std::uint64_t NormCase::count_wrong_sums() const {
  const bool is_layer = shape_.kind == NormKind::kLayer;
  const auto tokens = static_cast<std::size_t>(shape_.tokens);
  const std::vector<float> rstd = download(sets_[0].rstd.data(), tokens);
  const std::vector<float> mean =
      is_layer ? download(sets_[0].mean.data(), tokens) : std::vector<float>(tokens);
  const std::vector<Bf16> d_weight = download(d_weight_.data(), d_weight_.size());
  const std::vector<Bf16> d_bias = download(d_bias_.data(), d_bias_.size());
  std::uint64_t wrong = 0;
  for (const std::int64_t column : looked_at(shape_.hidden)) {
    double sum[2] = {};  // of the gradients of w and of b
    double squares[2] = {};
    for (std::size_t row = 0; row < tokens; ++row) {
      const std::int64_t at = static_cast<std::int64_t>(row) * shape_.hidden + column;
      const double x = double{to_float(bench::payload(seed_x(0), at))};
      const double dy = double{to_float(bench::payload(seed_dy(0), at))};
      const double terms[2] = {dy * (x - double{mean[row]}) * double{rstd[row]}, dy};
      for (int i = 0; i < 2; ++i) {
        sum[i] += terms[i];
        squares[i] += terms[i] * terms[i];
      }
    }
    const auto place = static_cast<std::size_t>(column);
    wrong += is_summed_right(double{to_float(d_weight[place])}, sum[0], std::sqrt(squares[0])) ? 0 : 1;
    if (is_layer)
      wrong += is_summed_right(double{to_float(d_bias[place])}, sum[1], std::sqrt(squares[1])) ? 0 : 1;
  }
  return wrong;
}

}  // namespace goodput::gpu::calibrate
