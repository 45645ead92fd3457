#include "models/step/elementwise_traffic.h"

namespace goodput {
namespace {

constexpr double kNormForward = 2 * kBytes16;         // reads the input, writes the output
constexpr double kNormInputGradient = 3 * kBytes16;   // reads input and gradient, writes a gradient
constexpr double kNormWeightGradient = 2 * kBytes16;  // reads both once more

// RMSNorm as PyTorch composes it from 32-bit operations (ATen, native/layer_norm.cpp, rms_norm_composite):
// square, mean, and a product with the reciprocal root. The product with the weight is in the model's dtype.
constexpr double kEagerNormForward = 8 + 4 + 8;
constexpr double kEagerWeightForward = 2 * kBytes16;
constexpr std::int32_t kEagerNormForwardKernels = 6;
constexpr double kEagerNormBackward = 8 + 16  // product with the root: both gradients, with a sum per row
                                      + 16    // square
                                      + 12;   // sum of the two gradients
constexpr double kEagerWeightBackward = 6 * kBytes16;  // both gradients, with the sum over rows
constexpr std::int32_t kEagerNormBackwardKernels = 8;

constexpr double kSum = 3 * kBytes16;             // reads two, writes one
constexpr double kDropoutSum = kSum + kMaskByte;  // fused: the mask is all that dropout adds
constexpr double kBiasGradient = kBytes16;        // reads; what it writes is as small as a row

double hidden_elements(const BlockScope& scope) {
  return scope.norm_tokens() * scope.model.hidden;
}

}  // namespace

bool is_eager(const BlockScope& scope) {
  return !scope.plan.compiled && !scope.model.biases.norm;
}

bool recomputes_norm(const BlockScope& scope, Gradients gradients) {
  return scope.plan.recomputes(SelectiveRecompute::kEverySecondMatmul) && has_activations(gradients);
}

void norm_forward(KernelSequence& kernels, const BlockScope& scope) {
  norm_forward(kernels, scope, hidden_elements(scope));
}

void norm_backward(KernelSequence& kernels, const BlockScope& scope) {
  norm_backward(kernels, scope, hidden_elements(scope));
}

void norm_forward(KernelSequence& kernels, const BlockScope& scope, double elements) {
  if (is_eager(scope)) {
    kernels.eager_memory(kEagerNormForward * elements, 2 * elements, kEagerNormForwardKernels);
    kernels.memory(kEagerWeightForward * elements);
    return;
  }
  kernels.memory(kNormForward * elements);
}

void norm_backward(KernelSequence& kernels, const BlockScope& scope, double elements) {
  if (is_eager(scope)) {
    kernels.eager_memory(kEagerNormBackward * elements, 2 * elements, kEagerNormBackwardKernels);
    kernels.memory(kEagerWeightBackward * elements, 3);
    return;
  }
  kernels.memory(kNormInputGradient * elements);
  kernels.memory(kNormWeightGradient * elements);
}

void residual_forward(KernelSequence& kernels, const BlockScope& scope) {
  kernels.memory((scope.model.biases.residual() ? kDropoutSum : kSum) * hidden_elements(scope));
}

void residual_backward(KernelSequence& kernels, const BlockScope& scope) {
  if (scope.model.biases.residual()) {
    kernels.memory(kDropoutBytes * hidden_elements(scope));
    kernels.memory(kBiasGradient * hidden_elements(scope));
  }
  kernels.memory(kSum * hidden_elements(scope));  // the gradients of both branches
}

}  // namespace goodput
