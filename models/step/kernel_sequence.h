// Kernels in the order in which a block launches them, and how a linear layer becomes matrix products.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/step/block_scope.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// A whole extent of a matrix, in 63 bits.
[[nodiscard]] inline std::int64_t whole_extent(double value) {
  return std::max<std::int64_t>(1, std::llround(std::min(value, 9e18)));
}

// y = x W with W of in x out, several of them side by side where there are experts.
struct Linear {
  double in = 0;
  double out = 0;
  double copies = 1;

  [[nodiscard]] double parameters() const { return in * out * copies; }
};

// Kernels in the order in which they are launched.
class KernelSequence {
 public:
  explicit KernelSequence(const BlockScope& scope)
      : precision_(scope.plan.dtype == Dtype::kFp8 ? Precision::kFp8 : Precision::kBf16),
        adds_up_apart_(!scope.plan.fused_accumulation && scope.plan.micro_batches() > 1) {}

  // `launches` kernels that together read and write `bytes`.
  void memory(double bytes, std::int32_t launches = 1) {
    Kernel kernel;
    kernel.bytes = bytes;
    kernel.launches = launches;
    kernels_.push_back(kernel);
  }
  void product(Precision precision, double m, double n, double k, double batch = 1) {
    const double width = precision == Precision::kFp8 ? 1 : kBytes16;
    Kernel kernel;
    kernel.kind = Kernel::Kind::kGemm;
    kernel.precision = precision;
    kernel.batch = whole_extent(batch);
    kernel.m = whole_extent(m);
    kernel.n = whole_extent(n);
    kernel.k = whole_extent(k);
    kernel.bytes = batch * (width * (m * k + k * n) + kBytes16 * m * n);
    kernels_.push_back(kernel);
  }
  void fused_attention(double flops, double bytes) {
    Kernel kernel;
    kernel.kind = Kernel::Kind::kAttention;
    kernel.flops = flops;
    kernel.bytes = bytes;
    kernels_.push_back(kernel);
  }

  // `rows` rows in all, spread over the copies.
  void forward(const Linear& linear, double rows) {
    product(precision_, rows / linear.copies, linear.out, linear.in, linear.copies);
  }
  void backward(const Linear& linear, double rows, Gradients gradients) {
    if (has_activations(gradients)) {
      product(precision_, rows / linear.copies, linear.in, linear.out, linear.copies);
    }
    if (has_weights(gradients)) {
      weight_gradient(linear, rows);
      add_up(linear.parameters());
    }
  }
  void weight_gradient(const Linear& linear, double rows) {
    product(precision_, linear.in, linear.out, rows / linear.copies, linear.copies);
  }
  // Gradients of earlier micro-batches and of this one: of the weight, the bias and a norm beside it.
  void add_up(double parameters) {
    if (adds_up_apart_) memory(kSumTraffic * kBytes16 * parameters, kSummedTensors);
  }
  std::vector<Kernel> take() && { return std::move(kernels_); }

 private:
  // A sum reads both and writes one. Counted for three tensors: the weight, its bias, and the norm in front
  // of it.
  static constexpr double kSumTraffic = 3;
  static constexpr std::int32_t kSummedTensors = 3;

  Precision precision_;
  bool adds_up_apart_;
  std::vector<Kernel> kernels_;
};

}  // namespace goodput
