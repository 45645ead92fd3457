// Attention: projections, scores or the fused kernel, output projection.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/step/block_work.h"
#include "models/step/elementwise_traffic.h"
#include "models/step/ffn_products.h"
#include "models/step/kernel_sequence.h"

namespace goodput {
namespace {

// ---- What kernels read and write, in bytes an element: 16 bits for every number, but where it says 32.

// The score matrices, where attention is not one fused kernel: Megatron-LM v2.6,
// megatron/model/fused_softmax.py, FusedScaleMaskSoftmax. Its fused kernel scales, masks and takes the
// softmax at once.
constexpr double kFusedSoftmaxForward = 2 * kBytes16;   // reads scores, writes probabilities
constexpr double kFusedSoftmaxBackward = 3 * kBytes16;  // reads probabilities and their gradient, writes one
// Its is_kernel_available(); later versions take rows of up to 4096 (megatron/core/fusions/fused_softmax.py).
constexpr double kLongestFusedRow = 2048;
constexpr std::int64_t kFusedMatrices = 4;  // score matrices have to come in multiples

// Else forward_torch_softmax(): a kernel each.
constexpr double kBytes32 = 4;
constexpr double kConversion = kBytes16 + kBytes32;
constexpr double kPlainSoftmaxForward = kConversion     // to 32 bits
                                        + 2 * kBytes32  // scale
                                        + 2 * kBytes32  // mask
                                        + 2 * kBytes32  // softmax
                                        + kConversion;  // and back
// These five; three that make a causal mask anew (core v0.12, megatron/core/transformer/utils.py,
// get_default_causal_mask()); and, assumed, five that bring it into shape.
constexpr std::int32_t kPlainSoftmaxForwardKernels = 13;
// Assumed: 24 bytes are sure, and if scale and mask each read and wrote all of a matrix in 32 bits, it would
// be 40.
constexpr double kPlainSoftmaxBackward = kConversion      // to 32 bits
                                         + 3 * kBytes32   // softmax
                                         + 6              // scale and mask, in part in place
                                         + kConversion;   // and back
constexpr std::int32_t kPlainSoftmaxBackwardKernels = 8;  // assumed

// Around the scores: Megatron-LM v2.6, megatron/model/transformer.py, ParallelAttention.
// Heads side by side into rows of tokens (permute and contiguous), or the rotary position of as many numbers.
constexpr double kHeadsToRows = 2 * kBytes16;
// Gradients of queries, keys and values: reads three tensors, writes three as one.
constexpr double kJoinedGradients = 6 * kBytes16;
// Eager rotary embedding with 32-bit complex numbers: reads and writes each element.
constexpr double kEagerRotary = 2 * kBytes32;
constexpr std::int32_t kEagerRotaryKernels = 3;
constexpr double kBiasGradients = 3 * kBytes16;  // of their biases: reads the three

// FlashAttention-2 (Dao, 2023), section 4.1: backwards five products instead of two, for the scores are made
// again.
constexpr double kFusedBackwardFlops = 2.5;  // of the forward pass
// Assumed: twice its traffic, for every tensor has a gradient, of which it reads or writes one.
constexpr double kFusedBackwardBytes = 2;

// ---- Shapes.

// The projections and the heads of one GPU.
struct AttentionShape {
  std::vector<Linear> in;
  Linear out;
  double heads = 0;      // on this GPU
  double key_dim = 0;    // of a head, of queries and keys
  double value_dim = 0;  // of a head
  double kv_heads = 0;   // on this GPU

  explicit AttentionShape(const BlockScope& scope) {
    const ModelShape& model = scope.model;
    const double tp = scope.plan.tp;
    const double hidden = model.hidden;
    heads = model.heads / tp;
    if (model.latent) {
      const LatentAttention& latent = *model.latent;
      key_dim = latent.nope_dim + latent.rope_dim;
      value_dim = latent.value_dim;
      kv_heads = heads;
      if (latent.q_rank > 0) {
        in = {{hidden, static_cast<double>(latent.q_rank)},
              {static_cast<double>(latent.q_rank), heads * key_dim}};
      } else {
        in = {{hidden, heads * key_dim}};
      }
      in.push_back({hidden, static_cast<double>(latent.kv_rank + latent.rope_dim)});
      in.push_back({static_cast<double>(latent.kv_rank), heads * (latent.nope_dim + value_dim)});
    } else {
      key_dim = value_dim = model.head_dim;
      kv_heads = std::max(1.0, model.kv_heads / tp);
      in = {{hidden, (heads + 2 * kv_heads) * key_dim, 1, true, false}};
    }
    out = {heads * value_dim, hidden, 1, false, true};
  }

  // Of queries, keys, values and outputs of a token.
  [[nodiscard]] double activation_bytes() const {
    return kBytes16 * (heads * (key_dim + value_dim) + kv_heads * (key_dim + value_dim));
  }
};

struct Scores {
  double rows = 0;    // queries of this GPU, by head
  double length = 0;  // keys a query meets
  double sequences = 0;
  double elements = 0;  // of the score matrix

  Scores(const BlockScope& scope, const AttentionShape& shape) {
    length = static_cast<double>(scope.plan.sequence_length);
    sequences = scope.plan.micro_batch * shape.heads;
    rows = length / scope.plan.cp;
    elements = sequences * rows * length;
  }

  [[nodiscard]] bool has_fused_softmax() const {
    return whole_extent(sequences) % kFusedMatrices == 0 && length <= kLongestFusedRow;
  }
};

// ---- Kernels.

// Half of the scores are masked: a fused kernel leaves them out, plain products do not. So the two products
// of a fused one, of two FLOPs a score and dimension, come to one each.
void scores_forward(KernelSequence& kernels, const BlockScope& scope, const AttentionShape& shape) {
  const Scores scores(scope, shape);
  if (scope.plan.fused_attention) {
    kernels.fused_attention(scores.elements * (shape.key_dim + shape.value_dim),
                            scope.tokens() * shape.activation_bytes(), scores.length);
    return;
  }
  kernels.high_product(scores.rows, scores.length, shape.key_dim, scores.sequences);
  if (scores.has_fused_softmax()) {
    kernels.memory(kFusedSoftmaxForward * scores.elements);
  } else {
    kernels.memory(kPlainSoftmaxForward * scores.elements, kPlainSoftmaxForwardKernels);
  }
  kernels.memory(kDropoutBytes * scores.elements);
  kernels.high_product(scores.rows, shape.value_dim, scores.length, scores.sequences);
}

void scores_backward(KernelSequence& kernels, const BlockScope& scope, const AttentionShape& shape) {
  const Scores scores(scope, shape);
  if (scope.plan.fused_attention) {
    kernels.fused_attention(kFusedBackwardFlops * scores.elements * (shape.key_dim + shape.value_dim),
                            kFusedBackwardBytes * scope.tokens() * shape.activation_bytes(), scores.length);
    return;
  }
  kernels.high_product(scores.rows, scores.length, shape.value_dim, scores.sequences);
  kernels.high_product(scores.length, shape.value_dim, scores.rows, scores.sequences);
  kernels.high_product(scores.rows, shape.key_dim, scores.length, scores.sequences);
  kernels.high_product(scores.length, shape.key_dim, scores.rows, scores.sequences);
  kernels.memory(kDropoutBytes * scores.elements);
  if (scores.has_fused_softmax()) {
    kernels.memory(kFusedSoftmaxBackward * scores.elements);
  } else {
    kernels.memory(kPlainSoftmaxBackward * scores.elements, kPlainSoftmaxBackwardKernels);
  }
}

double query_and_key_elements(const BlockScope& scope, const AttentionShape& shape) {
  return scope.tokens() * (shape.heads + shape.kv_heads) * shape.key_dim;
}

// Rearranges heads into rows, or applies the rotary embedding.
void rows_of_heads(KernelSequence& kernels, const BlockScope& scope, const AttentionShape& shape) {
  if (is_eager(scope)) {
    const double elements = query_and_key_elements(scope, shape);
    kernels.eager_memory(kEagerRotary * elements, 2 * elements, 2 * kEagerRotaryKernels);
  } else {
    kernels.memory(kHeadsToRows * scope.tokens() * shape.out.in);
  }
}

// kCheap: score matrices and the up-projections of latents. kEverySecondMatmul: the matmuls of keys and
// output, and the element-wise operations.
void recompute_selectively(KernelSequence& kernels, const BlockScope& scope, const AttentionShape& shape) {
  if (scope.plan.recomputes(SelectiveRecompute::kEverySecondMatmul)) {
    norm_forward(kernels, scope);
    if (scope.model.latent) {
      for (std::size_t i = 1; i < shape.in.size(); i += 2) kernels.forward(shape.in[i], scope.tokens());
    } else {
      kernels.forward({static_cast<double>(scope.model.hidden), shape.kv_heads * shape.key_dim},
                      scope.tokens());
    }
    rows_of_heads(kernels, scope, shape);
    kernels.forward(shape.out, scope.tokens());
    residual_forward(kernels, scope);
  }
  if (!scope.plan.recomputes(SelectiveRecompute::kCheap)) return;
  if (!scope.plan.fused_attention) scores_forward(kernels, scope, shape);
  for (const Linear& linear : shape.in) {
    if (linear.in < scope.model.hidden) kernels.forward(linear, scope.tokens());
  }
}

}  // namespace

std::vector<Kernel> attention_forward(const BlockScope& scope) {
  const AttentionShape shape(scope);
  KernelSequence kernels(scope);
  norm_forward(kernels, scope);
  for (const Linear& linear : shape.in) kernels.forward(linear, scope.tokens());
  if (scope.model.qk_norm) norm_forward(kernels, scope, query_and_key_elements(scope, shape));
  scores_forward(kernels, scope, shape);
  rows_of_heads(kernels, scope, shape);
  kernels.forward(shape.out, scope.tokens());
  residual_forward(kernels, scope);
  return std::move(kernels).take();
}

std::vector<Kernel> attention_backward(const BlockScope& scope, Gradients gradients) {
  const AttentionShape shape(scope);
  KernelSequence kernels(scope);
  if (has_activations(gradients)) residual_backward(kernels, scope);
  kernels.backward(shape.out, scope.tokens(), gradients);
  if (has_activations(gradients)) {
    recompute_selectively(kernels, scope, shape);
    scores_backward(kernels, scope, shape);
    const double heads = scope.tokens() * shape.out.in;
    rows_of_heads(kernels, scope, shape);
    kernels.memory(kJoinedGradients * heads);
    if (scope.model.qk_norm) norm_backward(kernels, scope, query_and_key_elements(scope, shape));
    if (scope.model.biases.qkv) kernels.memory(kBiasGradients * heads);
  }
  for (auto linear = shape.in.rbegin(); linear != shape.in.rend(); ++linear) {
    kernels.backward(*linear, scope.tokens(), gradients);
  }
  if (has_activations(gradients)) norm_backward(kernels, scope);
  return std::move(kernels).take();
}

std::vector<Kernel> attention_input_weight_gradient(const BlockScope& scope) {
  KernelSequence kernels(scope);
  const AttentionShape shape(scope);
  for (const Linear& linear : shape.in) kernels.weight_gradient(linear, scope.tokens());
  return std::move(kernels).take();
}

std::vector<Kernel> attention_to_arriving_keys(const BlockScope& scope, bool backward) {
  const AttentionShape shape(scope);
  KernelSequence kernels(scope);
  backward ? scores_backward(kernels, scope, shape) : scores_forward(kernels, scope, shape);
  return std::move(kernels).take_share((scope.plan.cp - 1.0) / scope.plan.cp);
}

std::vector<Kernel> products_around_attention_gradient(const BlockScope& scope, double hidden_size) {
  KernelSequence kernels(scope);
  const AttentionShape shape(scope);
  for (const Linear& linear : shape.in) kernels.products_of_gradients(linear, scope.tokens());
  if (hidden_size > 0) {
    const Linear down = FfnShape(scope, hidden_size, 1, scope.plan.tp).down;
    kernels.product_of({down.out, down.in}, scope.tokens());
  }
  return std::move(kernels).take();
}

std::vector<Kernel> products_around_ffn_gradient(const BlockScope& scope, double hidden_size) {
  KernelSequence kernels(scope);
  kernels.products_of_gradients(FfnShape(scope, hidden_size, 1, scope.plan.tp).up, scope.tokens());
  const Linear out = AttentionShape(scope).out;
  kernels.product_of({out.out, out.in}, scope.tokens());
  return std::move(kernels).take();
}

std::vector<Kernel> products_around_attention_reduction(const BlockScope& scope, double hidden_size) {
  KernelSequence kernels(scope);
  kernels.product_of(AttentionShape(scope).out, scope.tokens());
  if (hidden_size > 0) kernels.product_of(FfnShape(scope, hidden_size, 1, scope.plan.tp).up, scope.tokens());
  return std::move(kernels).take();
}

std::vector<Kernel> products_around_ffn_reduction(const BlockScope& scope, double hidden_size) {
  KernelSequence kernels(scope);
  kernels.product_of(FfnShape(scope, hidden_size, 1, scope.plan.tp).down, scope.tokens());
  const AttentionShape shape(scope);
  for (const Linear& linear : shape.in) kernels.product_of(linear, scope.tokens());
  return std::move(kernels).take();
}

}  // namespace goodput
