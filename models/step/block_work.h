// The kernels of the blocks of a decoder on one GPU, for one micro-batch: attention, feed-forward, experts,
// router, embedding and output head; forwards and backwards.
//
// Matrix multiplications follow from the shapes. Memory traffic of norms, activations, dropouts and residuals
// counts what the fused kernels of Megatron-LM read and write, two bytes an activation. A block a file:
// attention_work.cpp, ffn_work.cpp, moe_work.cpp, vocabulary_work.cpp; each factor of theirs says where it
// comes from.
#pragma once

#include <vector>

#include "models/step/block_scope.h"
#include "sim/machine/cost_model.h"

namespace goodput {

[[nodiscard]] std::vector<Kernel> attention_forward(const BlockScope& scope);
[[nodiscard]] std::vector<Kernel> attention_backward(const BlockScope& scope, Gradients gradients);

// The products of the weights' gradients of the projections in front of attention and of an FFN's up
// projection: what a tensor-parallel backward can hide its reductions behind.
[[nodiscard]] std::vector<Kernel> attention_input_weight_gradient(const BlockScope& scope);
[[nodiscard]] std::vector<Kernel> ffn_input_weight_gradient(const BlockScope& scope, double hidden_size);

// The forward matmuls before and after a tensor-parallel reduction. After attention: its output projection
// and the FFN's up projection (hidden_size 0: no FFN follows). After an FFN: its down projection and the next
// attention's projections.
[[nodiscard]] std::vector<Kernel> products_around_attention_reduction(const BlockScope& scope,
                                                                      double hidden_size);
[[nodiscard]] std::vector<Kernel> products_around_ffn_reduction(const BlockScope& scope, double hidden_size);
// The same in the backward pass: both gradients of the projections before the reduction, and the input
// gradient of the projection after the gather.
[[nodiscard]] std::vector<Kernel> products_around_attention_gradient(const BlockScope& scope,
                                                                     double hidden_size);
[[nodiscard]] std::vector<Kernel> products_around_ffn_gradient(const BlockScope& scope, double hidden_size);

// Context parallelism: the attention that runs while the keys of the next peer arrive.
[[nodiscard]] std::vector<Kernel> attention_to_arriving_keys(const BlockScope& scope, bool backward);

// Of a layer of multi-token prediction: the hidden state and the next token's embedding, normed, made one
// (DeepSeek-V3 report, equation 21).
[[nodiscard]] std::vector<Kernel> mtp_projection_forward(const BlockScope& scope);
[[nodiscard]] std::vector<Kernel> mtp_projection_backward(const BlockScope& scope, Gradients gradients);

// A dense FFN, or the shared experts together.
[[nodiscard]] std::vector<Kernel> ffn_forward(const BlockScope& scope, double hidden_size);
[[nodiscard]] std::vector<Kernel> ffn_backward(const BlockScope& scope, double hidden_size,
                                               Gradients gradients);

[[nodiscard]] std::vector<Kernel> router_forward(const BlockScope& scope);
[[nodiscard]] std::vector<Kernel> router_backward(const BlockScope& scope, Gradients gradients);

// The routed experts of this GPU on `tokens` tokens in all, each counted once an expert.
[[nodiscard]] std::vector<Kernel> experts_forward(const BlockScope& scope, double tokens);
[[nodiscard]] std::vector<Kernel> experts_backward(const BlockScope& scope, double tokens,
                                                   Gradients gradients);

[[nodiscard]] std::vector<Kernel> embedding_forward(const BlockScope& scope);
[[nodiscard]] std::vector<Kernel> embedding_backward(const BlockScope& scope);

// Final norm, output projection and loss.
[[nodiscard]] std::vector<Kernel> head_forward(const BlockScope& scope);
[[nodiscard]] std::vector<Kernel> head_backward(const BlockScope& scope, Gradients gradients);

}  // namespace goodput
