// What the blocks of a decoder on one GPU see of a micro-batch, of the model and of the plan.
#pragma once

#include <cstdint>

#include "models/plan/expert_slots.h"
#include "models/plan/parallel_plan.h"
#include "models/shape/model_shape.h"
#include "sim/machine/precision.h"

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
  // Copies of tokens for a GPU's experts if all get as many, including those of the GPUs that hold the other
  // parts of its experts. REQUIRES: model.moe.
  [[nodiscard]] double routed_tokens() const;
  // Routed experts on this GPU, or its parts of them. REQUIRES: model.moe.
  [[nodiscard]] double held_experts() const;
  [[nodiscard]] std::int32_t tp_of_expert() const { return slots.tp_of_expert(plan); }
  // Whether the GPUs that share an expert hold different tokens, so that each keeps its own rows.
  [[nodiscard]] bool share_rows_of_experts() const {
    return tp_of_expert() > 1 && (plan.sequence_parallel || plan.tp != tp_of_expert());
  }
};

// Whether activation functions run again in the backward pass: gated ones with kCheap, all with
// kEverySecondMatmul.
[[nodiscard]] bool recomputes_activation(const BlockScope& scope);

// The precision of matmuls that do not run in 8 bits.
[[nodiscard]] Precision high_precision(const ParallelPlan& plan);

}  // namespace goodput
