// Kernels in the order in which a block launches them, and how a linear layer becomes matrix products.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/step/block_scope.h"
#include "models/step/fp8_casts.h"
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
  // With sequence parallelism: from tensor-parallel peers.
  bool gathers_input = false;
  bool gathers_gradient = false;
  bool is_grouped = false;  // the copies have unequal numbers of rows

  [[nodiscard]] double parameters() const { return in * out * copies; }
};

// Kernels in the order in which they are launched.
class KernelSequence {
 public:
  explicit KernelSequence(const BlockScope& scope)
      : precision_(scope.plan.has_fp8() ? Precision::kFp8 : high_precision(scope.plan)),
        high_precision_(high_precision(scope.plan)),
        casts_(scope.plan),
        gathered_cast_(casts_.gathered_bytes(scope.plan.tp)),
        adds_up_apart_(!scope.plan.fused_accumulation && scope.plan.micro_batches() > 1) {}

  // `launches` kernels that together read and write `bytes`, counted for 16-bit numbers: twice as many for
  // 32-bit ones.
  void memory(double bytes, std::int32_t launches = 1) {
    memory_of(bytes * bytes_of(high_precision_) / kBytes16, launches);
  }
  // The same for a byte count that does not depend on the plan's dtype.
  void memory_of(double bytes, std::int32_t launches) {
    Kernel kernel;
    kernel.bytes = bytes;
    kernel.launches = launches;
    kernels_.push_back(kernel);
  }
  // Unfused 32-bit operations (ParallelPlan::compiled): `bytes` read and written, and `conversions` of an
  // element between 16 and 32 bits.
  void eager_memory(double bytes, double conversions, std::int32_t launches) {
    constexpr double kConversion = kBytes16 + 4;
    memory_of(bytes + (high_precision_ == Precision::kBf16 ? kConversion * conversions : 0), launches);
  }
  void product(Precision precision, double m, double n, double k, double batch = 1) {
    Kernel kernel;
    kernel.kind = Kernel::Kind::kGemm;
    kernel.precision = precision;
    kernel.batch = whole_extent(batch);
    kernel.m = whole_extent(m);
    kernel.n = whole_extent(n);
    kernel.k = whole_extent(k);
    kernel.bytes = batch * (bytes_of(precision) * (m * k + k * n) + bytes_of(high_precision_) * m * n);
    kernels_.push_back(kernel);
  }
  // A matmul that runs in 16 bits even if the plan's dtype is fp8.
  void high_product(double m, double n, double k, double batch = 1) {
    product(high_precision_, m, n, k, batch);
  }
  // `length`: keys per query, including masked ones.
  void fused_attention(double flops, double bytes, double length) {
    Kernel kernel;
    kernel.kind = Kernel::Kind::kAttention;
    kernel.precision = high_precision_;
    kernel.k = whole_extent(length);
    kernel.flops = flops;
    kernel.bytes = bytes * bytes_of(high_precision_) / kBytes16;
    kernels_.push_back(kernel);
  }

  // `rows` rows in all, spread over the copies.
  void forward(const Linear& linear, double rows) {
    cast(rows * linear.in, linear.gathers_input);
    if (casts_.weights_each_pass) cast(linear.parameters());
    product_of(linear, rows);
  }
  // Without casts.
  void product_of(const Linear& linear, double rows) {
    product(precision_, rows / linear.copies, linear.out, linear.in, linear.copies);
    kernels_.back().is_grouped = linear.is_grouped;
  }
  void products_of_gradients(const Linear& linear, double rows) {
    product_of({linear.out, linear.in, linear.copies}, rows);
    weight_gradient(linear, rows);
  }
  void backward(const Linear& linear, double rows, Gradients gradients) {
    if (has_activations(gradients)) cast(rows * linear.out, linear.gathers_gradient);
    if (has_activations(gradients)) {
      product(precision_, rows / linear.copies, linear.in, linear.out, linear.copies);
      kernels_.back().is_grouped = linear.is_grouped;
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
  // Every kernel with that share of its work.
  std::vector<Kernel> take_share(double share) && {
    for (Kernel& kernel : kernels_) {
      kernel.flops *= share;
      kernel.bytes *= share;
      kernel.m = whole_extent(share * static_cast<double>(kernel.m));
    }
    return std::move(kernels_);
  }

 private:
  void cast(double elements, bool is_gathered = false) {
    const double bytes = is_gathered ? gathered_cast_ : casts_.bytes;
    if (bytes > 0 && elements > 0) memory(bytes * elements, casts_.kernels);
  }

  // A sum reads both and writes one. Counted for three tensors: the weight, its bias, and the norm in front
  // of it.
  static constexpr double kSumTraffic = 3;
  static constexpr std::int32_t kSummedTensors = 3;

  Precision precision_;       // of linear layers
  Precision high_precision_;  // of what fp8 training multiplies in 16 bits
  Fp8Casts casts_;
  double gathered_cast_;
  bool adds_up_apart_;
  std::vector<Kernel> kernels_;
};

}  // namespace goodput
