#include "models/step/block_scope.h"

#include <cmath>

namespace goodput {

bool recomputes_activation(const BlockScope& scope) {
  return scope.plan.recomputes(SelectiveRecompute::kEverySecondMatmul) ||
         (scope.plan.recomputes(SelectiveRecompute::kCheap) && scope.model.gated_ffn);
}

Precision high_precision(const ParallelPlan& plan) {
  if (plan.dtype == Dtype::kFp32) return Precision::kFp32;
  return plan.dtype == Dtype::kTf32 ? Precision::kTf32 : Precision::kBf16;
}

double BlockScope::tokens() const {
  return static_cast<double>(plan.micro_batch) * static_cast<double>(plan.sequence_length) / plan.cp;
}

double BlockScope::norm_tokens() const {
  return plan.sequence_parallel ? tokens() / plan.tp : tokens();
}

double BlockScope::vocab_rows() const {
  if (plan.pad_vocab_to == 0) return std::floor(static_cast<double>(model.vocab) / plan.tp);
  const double multiple = static_cast<double>(plan.pad_vocab_to) * plan.tp;
  return std::ceil(model.vocab / multiple) * multiple / plan.tp;
}

double BlockScope::routed_tokens() const {
  return tokens() * model.moe->top_k / (static_cast<double>(plan.tp) / tp_of_expert());
}

double BlockScope::held_experts() const {
  return slots.are_used() ? slots.per_gpu : static_cast<double>(model.moe->experts) / plan.ep;
}

}  // namespace goodput
