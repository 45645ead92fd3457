// A mixture of experts: the router with the permutation of tokens, and the routed experts.
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/step/block_work.h"
#include "models/step/elementwise_traffic.h"
#include "models/step/ffn_products.h"
#include "models/step/kernel_sequence.h"
#include "models/step/token_copies.h"

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
// MoEAlltoAllTokenDispatcher: permutations 1 and 2, moe_utils.py permute() and unpermute()). A hierarchical
// dispatcher reads tokens where they are and sums up the outputs that come back, so that only the GPUs with
// the experts copy rows (core v0.12, fused_a2a.py).
constexpr double kPermutation = 2;

bool sorts_before_sending(const BlockScope& scope) {
  return scope.plan.ep == 1 || scope.plan.dispatcher != TokenDispatcher::kHierarchical;
}

// Of the router, in bytes a token and expert, in two kernels. Assumed: softmax reads and writes 32 bits
// (moe_utils.py, topk_softmax_with_capacity()), and top-k finds what it wrote in the cache.
constexpr double kRouterScores = 2 * 4;
constexpr std::int32_t kRouterKernels = 2;

// Bytes of the routed tokens' activations: each token once an expert.
double routed_bytes(const BlockScope& scope, double tokens) {
  return kBytes16 * tokens * scope.model.hidden;
}

// Copies rows between the order in which they arrive and that of the experts. A hierarchical dispatcher
// brings a token once, however many of its experts are on the GPU.
double sorting_bytes(const BlockScope& scope, double tokens) {
  if (sorts_before_sending(scope)) return kPermutation * routed_bytes(scope, tokens);
  return (1 + gpus_of_token(scope) / scope.model.moe->top_k) * routed_bytes(scope, tokens);
}

// What the router's GPU does with the rows that it sends and gets back.
void permutations(KernelSequence& kernels, const BlockScope& scope) {
  if (!sorts_before_sending(scope)) return;
  const double routed = scope.norm_tokens() * scope.model.moe->top_k;
  kernels.memory(kPermutation * routed_bytes(scope, routed));
  kernels.memory(routed_bytes(scope, routed + scope.norm_tokens()));  // the weighted sum
}

}  // namespace

std::vector<Kernel> router_forward(const BlockScope& scope) {
  const double experts = scope.model.moe->experts;
  KernelSequence kernels(scope);
  if (scope.model.moe->shared_experts == 0)
    norm_forward(kernels, scope);  // else the shared experts' FFN has it
  kernels.high_product(scope.norm_tokens(), experts, scope.model.hidden);
  kernels.memory(kRouterScores * scope.norm_tokens() * experts, kRouterKernels);
  permutations(kernels, scope);
  return std::move(kernels).take();
}

std::vector<Kernel> router_backward(const BlockScope& scope, Gradients gradients) {
  const double experts = scope.model.moe->experts;
  const double hidden = scope.model.hidden;
  KernelSequence kernels(scope);
  if (has_activations(gradients)) {
    permutations(kernels, scope);
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
  kernels.memory(sorting_bytes(scope, tokens));  // sorted by expert
  ffn_products_forward(kernels, scope, expert_shape(scope), padded(tokens, local));
  kernels.memory(sorting_bytes(scope, tokens));  // and back
  return std::move(kernels).take();
}

std::vector<Kernel> experts_backward(const BlockScope& scope, double tokens, Gradients gradients) {
  const double local = scope.held_experts();
  KernelSequence kernels(scope);
  if (has_activations(gradients)) kernels.memory(sorting_bytes(scope, tokens));
  ffn_products_backward(kernels, scope, expert_shape(scope), padded(tokens, local), gradients);
  if (has_activations(gradients)) kernels.memory(sorting_bytes(scope, tokens));
  return std::move(kernels).take();
}

}  // namespace goodput
