#include "models/step/ffn_products.h"

namespace goodput {
namespace {

// The activation function is one kernel, with gate and bias (Megatron-LM core v0.12, megatron/core/fusions/
// fused_bias_gelu.py and fused_bias_swiglu.py): it reads what the first product wrote and writes what the
// second reads.
double activation_forward_bytes(const FfnShape& ffn, double rows) {
  return kBytes16 * rows * (ffn.activations + ffn.down.in);
}

// Reads its input and its output's gradient, writes its input's gradient.
double activation_backward_bytes(const FfnShape& ffn, double rows) {
  return kBytes16 * rows * (2 * ffn.activations + ffn.down.in);
}

// Reads the gradient; what it writes is as small as a row.
double bias_gradient_bytes(const FfnShape& ffn, double rows) {
  return kBytes16 * rows * ffn.activations;
}

}  // namespace

FfnShape::FfnShape(const BlockScope& scope, double hidden_size, double copies, std::int32_t cuts) {
  const double width = hidden_size / cuts;
  activations = (scope.model.gated_ffn ? 2 : 1) * width;
  up = {static_cast<double>(scope.model.hidden), activations, copies};
  down = {width, static_cast<double>(scope.model.hidden), copies};
}

void ffn_products_forward(KernelSequence& kernels, const FfnShape& ffn, double rows) {
  kernels.forward(ffn.up, rows);
  kernels.memory(activation_forward_bytes(ffn, rows));
  kernels.forward(ffn.down, rows);
}

void ffn_products_backward(KernelSequence& kernels, const BlockScope& scope, const FfnShape& ffn, double rows,
                           Gradients gradients) {
  if (recomputes_activation(scope) && has_weights(gradients)) {
    kernels.memory(activation_forward_bytes(ffn, rows));
  }
  kernels.backward(ffn.down, rows, gradients);
  if (has_activations(gradients)) {
    kernels.memory(activation_backward_bytes(ffn, rows));
    if (scope.model.biases) kernels.memory(bias_gradient_bytes(ffn, rows));
  }
  kernels.backward(ffn.up, rows, gradients);
}

}  // namespace goodput
