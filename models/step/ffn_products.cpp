#include "models/step/ffn_products.h"

#include "models/step/elementwise_traffic.h"

namespace goodput {
namespace {

// The activation function is one kernel, with gate and bias (Megatron-LM core v0.12, megatron/core/fusions/
// fused_bias_gelu.py and fused_bias_swiglu.py): it reads what the first product wrote and writes what the
// second reads.
void activation_forward(KernelSequence& kernels, const BlockScope& scope, const FfnShape& ffn, double rows) {
  const double fused = kBytes16 * rows * (ffn.activations + ffn.down.in);
  // Eager: the function and the product with the gate are two kernels, so its output is written and read once
  // more.
  if (is_eager(scope) && scope.model.gated_ffn) {
    kernels.memory(fused + 2 * kBytes16 * rows * ffn.down.in, 2);
  } else {
    kernels.memory(fused);
  }
}

// Reads its input and its output's gradient, writes its input's gradient.
void activation_backward(KernelSequence& kernels, const BlockScope& scope, const FfnShape& ffn, double rows) {
  const double fused = kBytes16 * rows * (2 * ffn.activations + ffn.down.in);
  // Eager: three kernels compute the gradients of both factors and of the activation function. Each reads two
  // tensors and writes one.
  if (is_eager(scope) && scope.model.gated_ffn) {
    kernels.memory(3 * 3 * kBytes16 * rows * ffn.down.in, 3);
  } else {
    kernels.memory(fused);
  }
}

// Reads the gradient; what it writes is as small as a row.
double bias_gradient_bytes(const FfnShape& ffn, double rows) {
  return kBytes16 * rows * ffn.activations;
}

}  // namespace

FfnShape::FfnShape(const BlockScope& scope, double hidden_size, double copies, std::int32_t cuts) {
  const double width = hidden_size / cuts;
  activations = (scope.model.gated_ffn ? 2 : 1) * width;
  const bool is_dense = copies == 1 && cuts > 1;
  const bool is_grouped = copies > 1 && scope.plan.expert_matmuls == ExpertMatmuls::kGrouped;
  up = {static_cast<double>(scope.model.hidden), activations, copies, is_dense, false, is_grouped};
  down = {width, static_cast<double>(scope.model.hidden), copies, false, is_dense, is_grouped};
}

void ffn_products_forward(KernelSequence& kernels, const BlockScope& scope, const FfnShape& ffn,
                          double rows) {
  kernels.forward(ffn.up, rows);
  activation_forward(kernels, scope, ffn, rows);
  kernels.forward(ffn.down, rows);
}

void ffn_products_backward(KernelSequence& kernels, const BlockScope& scope, const FfnShape& ffn, double rows,
                           Gradients gradients) {
  if (recomputes_activation(scope) && has_weights(gradients)) {
    if (scope.plan.recomputes(SelectiveRecompute::kEverySecondMatmul) && scope.model.gated_ffn)
      kernels.forward({ffn.up.in, ffn.down.in, ffn.up.copies}, rows);  // the matmul of the gate
    activation_forward(kernels, scope, ffn, rows);
  }
  kernels.backward(ffn.down, rows, gradients);
  if (has_activations(gradients)) {
    activation_backward(kernels, scope, ffn, rows);
    if (scope.model.biases.ffn) kernels.memory(bias_gradient_bytes(ffn, rows));
  }
  kernels.backward(ffn.up, rows, gradients);
}

}  // namespace goodput
