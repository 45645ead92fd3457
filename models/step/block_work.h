// The kernels of the blocks of a decoder on one GPU, for one micro-batch: attention, feed-forward, experts,
// router, embedding and output head; forwards and backwards.
//
// Matrix multiplications follow from the shapes. Memory traffic of norms, activations, dropouts and residuals
// counts what the fused kernels of Megatron-LM read and write, two bytes an activation.
#pragma once

#include <cstdint>
#include <vector>

#include "models/plan/expert_slots.h"
#include "models/plan/parallel_plan.h"
#include "models/shape/model_shape.h"
#include "sim/machine/cost_model.h"

namespace goodput {

inline constexpr double kBytes16 = 2;  // of a number in 16 bits

// Which gradients a backward pass makes.
enum class Gradients : std::uint8_t { kAll, kActivations, kWeights };
[[nodiscard]] constexpr bool has_activations(Gradients gradients) {
  return gradients != Gradients::kWeights;
}
[[nodiscard]] constexpr bool has_weights(Gradients gradients) {
  return gradients != Gradients::kActivations;
}

// What the blocks of one GPU see.
struct BlockScope {
  const ModelShape& model;
  const ParallelPlan& plan;
  ExpertSlots slots{};

  // Of the micro-batch on this GPU; where sequence parallelism shards norms and dropouts: fewer.
  [[nodiscard]] double tokens() const;
  [[nodiscard]] double norm_tokens() const;
  // Of the vocabulary, on this GPU, padded as Megatron does.
  [[nodiscard]] double vocab_rows() const;
  // Copies of tokens for a GPU's experts where all get as many: those of its tensor-parallel peers, too,
  // where these hold the other parts of its experts. REQUIRES: model.moe.
  [[nodiscard]] double routed_tokens() const;
  // Routed experts on this GPU, or its parts of them. REQUIRES: model.moe.
  [[nodiscard]] double held_experts() const;
  [[nodiscard]] std::int32_t tp_of_expert() const { return slots.tp_of_expert(plan); }
};

// Selective recomputation drops the outputs of gated activations, which are cheap to make again.
[[nodiscard]] bool recomputes_activation(const BlockScope& scope);

[[nodiscard]] std::vector<Kernel> attention_forward(const BlockScope& scope);
[[nodiscard]] std::vector<Kernel> attention_backward(const BlockScope& scope, Gradients gradients);

// The products of the weights' gradients of the projections in front of attention and of an FFN's up
// projection: what a tensor-parallel backward can hide its reductions behind.
[[nodiscard]] std::vector<Kernel> attention_input_weight_gradient(const BlockScope& scope);
[[nodiscard]] std::vector<Kernel> ffn_input_weight_gradient(const BlockScope& scope, double hidden_size);

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
