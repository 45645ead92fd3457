// A mixture of experts: the router with the permutation of tokens, and the routed experts.
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/step/block_work.h"
#include "models/step/elementwise_traffic.h"
#include "models/step/ffn_products.h"
#include "models/step/kernel_sequence.h"

namespace goodput {
namespace {

FfnShape expert_shape(const BlockScope& scope) {
  return {scope, static_cast<double>(scope.model.moe->expert_ffn), scope.held_experts(),
          scope.tp_of_expert()};
}

// Grouped products take whole tiles of rows an expert. With 8-bit products Megatron-LM fills them up to 16
// (core v0.10, megatron/core/transformer/moe/experts.py, TEGroupedMLP with Fp8Padding); with 16-bit ones
// assumed to be as many: tensor cores multiply 16 rows at a time.
constexpr double kGroupedRows = 16;

// What all experts of a GPU get, filled up.
double padded(double tokens, double experts) {
  return experts * std::ceil(tokens / experts / kGroupedRows) * kGroupedRows;
}

// Of copying tokens in another order: reads and writes each. Before tokens are sent and after they have come,
// and the same on the way back (core v0.7, megatron/core/transformer/moe/token_dispatcher.py,
// MoEAlltoAllTokenDispatcher: permutations 1 and 2, moe_utils.py permute() and unpermute()).
constexpr double kPermutation = 2;

// Of the router, in bytes a token and expert, in two kernels. Assumed: softmax reads and writes 32 bits
// (moe_utils.py, topk_softmax_with_capacity()), and top-k finds what it wrote in the cache.
constexpr double kRouterScores = 2 * 4;
constexpr std::int32_t kRouterKernels = 2;

// Bytes of the routed tokens' activations: each token once an expert.
double routed_bytes(const BlockScope& scope, double tokens) {
  return kBytes16 * tokens * scope.model.hidden;
}

}  // namespace

std::vector<Kernel> router_forward(const BlockScope& scope) {
  const double experts = scope.model.moe->experts;
  KernelSequence kernels(scope);
  if (scope.model.moe->shared_experts == 0)
    norm_forward(kernels, scope);  // else the shared experts' FFN has it
  kernels.high_product(scope.norm_tokens(), experts, scope.model.hidden);
  kernels.memory(kRouterScores * scope.norm_tokens() * experts, kRouterKernels);
  const double routed = scope.norm_tokens() * scope.model.moe->top_k;
  kernels.memory(kPermutation * routed_bytes(scope, routed));
  kernels.memory(routed_bytes(scope, routed + scope.norm_tokens()));  // once they are back: weighted sum
  return std::move(kernels).take();
}

std::vector<Kernel> router_backward(const BlockScope& scope, Gradients gradients) {
  const double experts = scope.model.moe->experts;
  const double hidden = scope.model.hidden;
  KernelSequence kernels(scope);
  if (has_activations(gradients)) {
    const double routed = scope.norm_tokens() * scope.model.moe->top_k;
    kernels.memory(kPermutation * routed_bytes(scope, routed));
    kernels.memory(routed_bytes(scope, routed + scope.norm_tokens()));
    kernels.memory(kRouterScores * scope.norm_tokens() * experts, kRouterKernels);
    kernels.high_product(scope.norm_tokens(), hidden, experts);
    if (scope.model.moe->shared_experts == 0) {
      norm_backward(kernels, scope);
      residual_backward(kernels, scope);
    }
  }
  if (has_weights(gradients)) kernels.high_product(hidden, experts, scope.norm_tokens());
  return std::move(kernels).take();
}

std::vector<Kernel> experts_forward(const BlockScope& scope, double tokens) {
  const double local = scope.held_experts();
  KernelSequence kernels(scope);
  kernels.memory(kPermutation * routed_bytes(scope, tokens));  // sorted by expert
  ffn_products_forward(kernels, scope, expert_shape(scope), padded(tokens, local));
  kernels.memory(kPermutation * routed_bytes(scope, tokens));  // and back
  return std::move(kernels).take();
}

std::vector<Kernel> experts_backward(const BlockScope& scope, double tokens, Gradients gradients) {
  const double local = scope.held_experts();
  KernelSequence kernels(scope);
  if (has_activations(gradients)) kernels.memory(kPermutation * routed_bytes(scope, tokens));
  ffn_products_backward(kernels, scope, expert_shape(scope), padded(tokens, local), gradients);
  if (has_activations(gradients)) kernels.memory(kPermutation * routed_bytes(scope, tokens));
  return std::move(kernels).take();
}

}  // namespace goodput
