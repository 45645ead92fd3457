#include "models/step/elementwise_traffic.h"

namespace goodput {
namespace {

constexpr double kNormForward = 2 * kBytes16;         // reads the input, writes the output
constexpr double kNormInputGradient = 3 * kBytes16;   // reads input and gradient, writes a gradient
constexpr double kNormWeightGradient = 2 * kBytes16;  // reads both once more

constexpr double kSum = 3 * kBytes16;             // reads two, writes one
constexpr double kDropoutSum = kSum + kMaskByte;  // fused: the mask is all that dropout adds
constexpr double kBiasGradient = kBytes16;        // reads; what it writes is as small as a row

double hidden_elements(const BlockScope& scope) {
  return scope.norm_tokens() * scope.model.hidden;
}

}  // namespace

void norm_forward(KernelSequence& kernels, const BlockScope& scope) {
  kernels.memory(kNormForward * hidden_elements(scope));
}

void norm_backward(KernelSequence& kernels, const BlockScope& scope) {
  kernels.memory(kNormInputGradient * hidden_elements(scope));
  kernels.memory(kNormWeightGradient * hidden_elements(scope));
}

void residual_forward(KernelSequence& kernels, const BlockScope& scope) {
  kernels.memory((scope.model.biases ? kDropoutSum : kSum) * hidden_elements(scope));
}

void residual_backward(KernelSequence& kernels, const BlockScope& scope) {
  if (scope.model.biases) {
    kernels.memory(kDropoutBytes * hidden_elements(scope));
    kernels.memory(kBiasGradient * hidden_elements(scope));
  }
  kernels.memory(kSum * hidden_elements(scope));  // the gradients of both branches
}

}  // namespace goodput
