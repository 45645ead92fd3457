// Where tokens become vectors and vectors become tokens: embedding, output head, and the projection of
// multi-token prediction.
#include <cstdint>
#include <utility>
#include <vector>

#include "models/step/block_work.h"
#include "models/step/elementwise_traffic.h"
#include "models/step/kernel_sequence.h"

namespace goodput {
namespace {

// ---- What kernels read and write, in bytes an element of 16 bits.

// Embedding: Megatron-LM v2.6, megatron/model/language_model.py, Embedding, and megatron/mpu/layers.py,
// VocabParallelEmbedding. The counts of kernels are assumed (lookup, masks of tokens that other GPUs hold,
// sum, dropout).
constexpr double kEmbeddingForward = 2 * kBytes16    // lookup
                                     + 3 * kBytes16  // plus position
                                     + kDropoutBytes;
constexpr std::int32_t kEmbeddingForwardKernels = 6;
constexpr double kEmbeddingBackward = kDropoutBytes + 3 * kBytes16;  // reads, and adds to rows of the table
constexpr std::int32_t kEmbeddingBackwardKernels = 3;
// An element of the table's gradient: zeroed, then added to the one of earlier micro-batches.
constexpr double kTableGradient = kBytes16 + 3 * kBytes16;
constexpr std::int32_t kTableGradientKernels = 3;  // assumed

// Cross-entropy over 16-bit logits: core v0.12, megatron/core/fusions/fused_cross_entropy.py, whose functions
// are a kernel each: the maximum (reads); exponentials and their sum (reads, writes); the loss, of which only
// a row's worth is left.
constexpr double kCrossEntropyForward = kBytes16 + 2 * kBytes16;
// calculate_gradients(): scales, then converts, and reads and writes each time; the targets' elements are
// few.
constexpr double kCrossEntropyBackward = 2 * 2 * kBytes16;
constexpr std::int32_t kCrossEntropyKernels = 3;

// PyTorch's cross-entropy over 32-bit logits, one kernel per operation. Forward: log-softmax. Backward: one
// kernel fills in a gradient, the next one reads it and the log-softmax. The conversions from and to 16 bits
// are counted separately.
constexpr double kPlainCrossEntropyForward = 2 * 4;
constexpr double kPlainCrossEntropyBackward = 4 + 3 * 4;

void cross_entropy_forward(KernelSequence& kernels, const BlockScope& scope, double logits) {
  if (scope.plan.loss == LossKernels::kFused)
    kernels.memory(kCrossEntropyForward * logits, kCrossEntropyKernels);
  else
    kernels.eager_memory(kPlainCrossEntropyForward * logits, logits, kCrossEntropyKernels);
}

void cross_entropy_backward(KernelSequence& kernels, const BlockScope& scope, double logits) {
  if (scope.plan.loss == LossKernels::kFused)
    kernels.memory(kCrossEntropyBackward * logits, kCrossEntropyKernels);
  else
    kernels.eager_memory(kPlainCrossEntropyBackward * logits, logits, kCrossEntropyKernels);
}

}  // namespace

std::vector<Kernel> embedding_forward(const BlockScope& scope) {
  KernelSequence kernels(scope);
  kernels.memory(kEmbeddingForward * scope.tokens() * scope.model.hidden, kEmbeddingForwardKernels);
  return std::move(kernels).take();
}

std::vector<Kernel> embedding_backward(const BlockScope& scope) {
  KernelSequence kernels(scope);
  kernels.memory(kEmbeddingBackward * scope.tokens() * scope.model.hidden, kEmbeddingBackwardKernels);
  kernels.memory(kTableGradient * scope.vocab_rows() * scope.model.hidden, kTableGradientKernels);
  return std::move(kernels).take();
}

std::vector<Kernel> head_forward(const BlockScope& scope) {
  const double logits = scope.tokens() * scope.vocab_rows();
  KernelSequence kernels(scope);
  norm_forward(kernels, scope);
  kernels.high_product(scope.tokens(), scope.vocab_rows(), scope.model.hidden);
  cross_entropy_forward(kernels, scope, logits);
  return std::move(kernels).take();
}

std::vector<Kernel> head_backward(const BlockScope& scope, Gradients gradients) {
  const double logits = scope.tokens() * scope.vocab_rows();
  const double hidden = scope.model.hidden;
  KernelSequence kernels(scope);
  if (has_activations(gradients)) {
    cross_entropy_backward(kernels, scope, logits);
    kernels.high_product(scope.tokens(), hidden, scope.vocab_rows());
  }
  if (has_weights(gradients)) {
    kernels.high_product(hidden, scope.vocab_rows(), scope.tokens());
    kernels.add_up(scope.vocab_rows() * hidden);
  }
  if (has_activations(gradients)) norm_backward(kernels, scope);
  return std::move(kernels).take();
}

std::vector<Kernel> mtp_projection_forward(const BlockScope& scope) {
  const double hidden = scope.model.hidden;
  KernelSequence kernels(scope);
  norm_forward(kernels, scope);
  norm_forward(kernels, scope);
  kernels.forward({2 * hidden, hidden}, scope.norm_tokens());
  return std::move(kernels).take();
}

std::vector<Kernel> mtp_projection_backward(const BlockScope& scope, Gradients gradients) {
  const double hidden = scope.model.hidden;
  KernelSequence kernels(scope);
  kernels.backward({2 * hidden, hidden}, scope.norm_tokens(), gradients);
  if (has_activations(gradients)) {
    norm_backward(kernels, scope);
    norm_backward(kernels, scope);
  }
  return std::move(kernels).take();
}

}  // namespace goodput
