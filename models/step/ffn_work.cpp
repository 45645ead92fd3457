// A dense feed-forward network, or all shared experts as one.
#include <utility>
#include <vector>

#include "models/step/block_work.h"
#include "models/step/elementwise_traffic.h"
#include "models/step/ffn_products.h"
#include "models/step/kernel_sequence.h"

namespace goodput {

std::vector<Kernel> ffn_input_weight_gradient(const BlockScope& scope, double hidden_size) {
  KernelSequence kernels(scope);
  kernels.weight_gradient(FfnShape(scope, hidden_size, 1, scope.plan.tp).up, scope.tokens());
  return std::move(kernels).take();
}

std::vector<Kernel> ffn_forward(const BlockScope& scope, double hidden_size) {
  KernelSequence kernels(scope);
  norm_forward(kernels, scope);
  ffn_products_forward(kernels, scope, FfnShape(scope, hidden_size, 1, scope.plan.tp), scope.tokens());
  residual_forward(kernels, scope);
  return std::move(kernels).take();
}

std::vector<Kernel> ffn_backward(const BlockScope& scope, double hidden_size, Gradients gradients) {
  KernelSequence kernels(scope);
  if (has_activations(gradients)) residual_backward(kernels, scope);
  if (recomputes_norm(scope, gradients)) norm_forward(kernels, scope);
  ffn_products_backward(kernels, scope, FfnShape(scope, hidden_size, 1, scope.plan.tp), scope.tokens(),
                        gradients);
  if (has_activations(gradients)) norm_backward(kernels, scope);
  return std::move(kernels).take();
}

}  // namespace goodput
