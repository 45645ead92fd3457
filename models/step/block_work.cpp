#include "models/step/block_work.h"

#include <algorithm>
#include <cmath>

namespace goodput {
namespace {

constexpr double kWide = 2;  // bytes of an activation, and of an input of a 16-bit product

std::int64_t count(double value) {
  return std::max<std::int64_t>(1, std::llround(std::min(value, 9e18)));  // 63 bits
}

// y = x W with W of in x out, several of them side by side where there are experts.
struct Linear {
  double in = 0;
  double out = 0;
  double copies = 1;

  [[nodiscard]] double parameters() const { return in * out * copies; }
};

// Kernels in the order in which they are launched.
class Sequence {
 public:
  explicit Sequence(const BlockScope& scope)
      : precision_(scope.plan.dtype == Dtype::kFp8 ? Precision::kFp8 : Precision::kBf16),
        adds_up_apart_(!scope.plan.fused_accumulation && scope.plan.micro_batches() > 1) {}

  // `launches` kernels that together read and write `bytes`.
  void memory(double bytes, std::int32_t launches = 1) {
    Kernel kernel;
    kernel.bytes = bytes;
    kernel.launches = launches;
    kernels_.push_back(kernel);
  }
  void product(Precision precision, double m, double n, double k, double batch = 1) {
    const double width = precision == Precision::kFp8 ? 1 : kWide;
    Kernel kernel;
    kernel.kind = Kernel::Kind::kGemm;
    kernel.precision = precision;
    kernel.batch = count(batch);
    kernel.m = count(m);
    kernel.n = count(n);
    kernel.k = count(k);
    kernel.bytes = batch * (width * (m * k + k * n) + kWide * m * n);
    kernels_.push_back(kernel);
  }
  void fused_attention(double flops, double bytes) {
    Kernel kernel;
    kernel.kind = Kernel::Kind::kAttention;
    kernel.flops = flops;
    kernel.bytes = bytes;
    kernels_.push_back(kernel);
  }

  // `rows` rows in all, spread over the copies.
  void forward(const Linear& linear, double rows) {
    product(precision_, rows / linear.copies, linear.out, linear.in, linear.copies);
  }
  void backward(const Linear& linear, double rows, Gradients gradients) {
    if (has_activations(gradients)) {
      product(precision_, rows / linear.copies, linear.in, linear.out, linear.copies);
    }
    if (has_weights(gradients)) {
      weight_gradient(linear, rows);
      add_up(linear.parameters());
    }
  }
  void weight_gradient(const Linear& linear, double rows) {
    product(precision_, linear.in, linear.out, rows / linear.copies, linear.copies);
  }
  // Gradients of earlier micro-batches and of this one: of the weight, the bias and a norm beside it.
  void add_up(double parameters) {
    if (adds_up_apart_) memory(3 * kWide * parameters, 3);
  }
  std::vector<Kernel> take() && { return std::move(kernels_); }

 private:
  Precision precision_;
  bool adds_up_apart_;
  std::vector<Kernel> kernels_;
};

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
      in = {{hidden, (heads + 2 * kv_heads) * key_dim}};
    }
    out = {heads * value_dim, hidden};
  }

  // Of queries, keys, values and outputs of a token.
  [[nodiscard]] double activation_bytes() const {
    return kWide * (heads * (key_dim + value_dim) + kv_heads * (key_dim + value_dim));
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

  // Megatron's fused scale, mask and softmax takes rows of up to 2048, and whole multiples of four matrices.
  [[nodiscard]] bool has_fused_softmax() const { return count(sequences) % 4 == 0 && length <= 2048; }
};

// Half of the scores are masked: a fused kernel leaves them out, plain products do not.
void scores_forward(Sequence& kernels, const BlockScope& scope, const AttentionShape& shape) {
  const Scores scores(scope, shape);
  if (scope.plan.fused_attention) {
    kernels.fused_attention(scores.elements * (shape.key_dim + shape.value_dim),
                            scope.tokens() * shape.activation_bytes());
    return;
  }
  kernels.product(Precision::kBf16, scores.rows, scores.length, shape.key_dim, scores.sequences);
  if (scores.has_fused_softmax()) {
    kernels.memory(4 * scores.elements);  // with scale and mask
  } else {
    kernels.memory(36 * scores.elements, 13);  // to 32 bits, scale, mask, softmax, back to 16; mask made anew
  }
  kernels.memory(5 * scores.elements);  // dropout with its mask
  kernels.product(Precision::kBf16, scores.rows, shape.value_dim, scores.length, scores.sequences);
}

void scores_backward(Sequence& kernels, const BlockScope& scope, const AttentionShape& shape) {
  const Scores scores(scope, shape);
  if (scope.plan.fused_attention) {  // five products instead of two: the scores are made again
    kernels.fused_attention(2.5 * scores.elements * (shape.key_dim + shape.value_dim),
                            2 * scope.tokens() * shape.activation_bytes());
    return;
  }
  kernels.product(Precision::kBf16, scores.rows, scores.length, shape.value_dim, scores.sequences);
  kernels.product(Precision::kBf16, scores.length, shape.value_dim, scores.rows, scores.sequences);
  kernels.product(Precision::kBf16, scores.rows, shape.key_dim, scores.length, scores.sequences);
  kernels.product(Precision::kBf16, scores.length, shape.key_dim, scores.rows, scores.sequences);
  kernels.memory(5 * scores.elements);  // dropout
  if (scores.has_fused_softmax()) {
    kernels.memory(6 * scores.elements);
  } else {
    kernels.memory(30 * scores.elements, 8);
  }
}

// What is cheap to make again for the memory it frees: score matrices, and the up-projections of latents.
void recompute_selectively(Sequence& kernels, const BlockScope& scope, const AttentionShape& shape) {
  if (scope.plan.recompute != Recompute::kSelective) return;
  if (!scope.plan.fused_attention) scores_forward(kernels, scope, shape);
  for (const Linear& linear : shape.in) {
    if (linear.in < scope.model.hidden) kernels.forward(linear, scope.tokens());
  }
}

void norm_forward(Sequence& kernels, const BlockScope& scope) {
  kernels.memory(2 * kWide * scope.norm_tokens() * scope.model.hidden);
}

// Reads input, its gradient and the residual's; writes a gradient. The weights' gradients read once more.
void norm_backward(Sequence& kernels, const BlockScope& scope) {
  const double elements = scope.norm_tokens() * scope.model.hidden;
  kernels.memory(3 * kWide * elements);
  kernels.memory(2 * kWide * elements);
}

// With biases come dropouts (GPT-2 and 3): reads both summands and a mask, writes the sum.
void residual_forward(Sequence& kernels, const BlockScope& scope) {
  const double elements = scope.norm_tokens() * scope.model.hidden;
  kernels.memory((scope.model.biases ? 7 : 6) * elements);
}

void residual_backward(Sequence& kernels, const BlockScope& scope) {
  const double elements = scope.norm_tokens() * scope.model.hidden;
  if (scope.model.biases) {
    kernels.memory(5 * elements);  // dropout
    kernels.memory(2 * elements);  // gradient of the bias
  }
  kernels.memory(6 * elements);  // both branches add up
}

// The two or three matrices of an FFN, this GPU's part.
struct FfnShape {
  Linear up;
  Linear down;
  double activations = 0;  // elements that go into the activation function, a row

  // `cuts`: GPUs that share each of the copies.
  FfnShape(const BlockScope& scope, double hidden_size, double copies, std::int32_t cuts) {
    const double width = hidden_size / cuts;
    activations = (scope.model.gated_ffn ? 2 : 1) * width;
    up = {static_cast<double>(scope.model.hidden), activations, copies};
    down = {width, static_cast<double>(scope.model.hidden), copies};
  }
};

FfnShape expert_shape(const BlockScope& scope) {
  return {scope, static_cast<double>(scope.model.moe->expert_ffn), scope.held_experts(),
          scope.tp_of_expert()};
}

void ffn_products_forward(Sequence& kernels, const FfnShape& ffn, double rows) {
  kernels.forward(ffn.up, rows);
  kernels.memory(kWide * rows * (ffn.activations + ffn.down.in));
  kernels.forward(ffn.down, rows);
}

void ffn_products_backward(Sequence& kernels, const BlockScope& scope, const FfnShape& ffn, double rows,
                           Gradients gradients) {
  if (recomputes_activation(scope) && has_weights(gradients)) {
    kernels.memory(kWide * rows * (ffn.activations + ffn.down.in));
  }
  kernels.backward(ffn.down, rows, gradients);
  if (has_activations(gradients)) {
    kernels.memory(kWide * rows * (2 * ffn.activations + ffn.down.in));
    if (scope.model.biases) kernels.memory(kWide * rows * ffn.activations);
  }
  kernels.backward(ffn.up, rows, gradients);
}

// What each expert of a GPU gets, filled up to whole tiles as grouped products do.
double padded(double tokens, double experts) {
  constexpr double kRows = 16;
  return experts * std::ceil(tokens / experts / kRows) * kRows;
}

// Bytes of the routed tokens' activations: each token once an expert.
double routed_bytes(const BlockScope& scope, double tokens) {
  return kWide * tokens * scope.model.hidden;
}

}  // namespace

bool recomputes_activation(const BlockScope& scope) {
  return scope.plan.recompute == Recompute::kSelective && scope.model.gated_ffn;
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

std::vector<Kernel> attention_forward(const BlockScope& scope) {
  const AttentionShape shape(scope);
  Sequence kernels(scope);
  norm_forward(kernels, scope);
  for (const Linear& linear : shape.in) kernels.forward(linear, scope.tokens());
  scores_forward(kernels, scope, shape);
  kernels.memory(2 * kWide * scope.tokens() * shape.out.in);  // transpose of the heads, or rotary position
  kernels.forward(shape.out, scope.tokens());
  residual_forward(kernels, scope);
  return std::move(kernels).take();
}

std::vector<Kernel> attention_backward(const BlockScope& scope, Gradients gradients) {
  const AttentionShape shape(scope);
  Sequence kernels(scope);
  if (has_activations(gradients)) residual_backward(kernels, scope);
  kernels.backward(shape.out, scope.tokens(), gradients);
  if (has_activations(gradients)) {
    recompute_selectively(kernels, scope, shape);
    scores_backward(kernels, scope, shape);
    const double heads = scope.tokens() * shape.out.in;
    kernels.memory(2 * kWide * heads);  // transpose, or rotary position
    kernels.memory(6 * kWide * heads);  // queries, keys and values into one
    if (scope.model.biases) kernels.memory(3 * kWide * heads);
  }
  for (auto linear = shape.in.rbegin(); linear != shape.in.rend(); ++linear) {
    kernels.backward(*linear, scope.tokens(), gradients);
  }
  if (has_activations(gradients)) norm_backward(kernels, scope);
  return std::move(kernels).take();
}

std::vector<Kernel> attention_input_weight_gradient(const BlockScope& scope) {
  Sequence kernels(scope);
  for (const Linear& linear : AttentionShape(scope).in) {
    kernels.weight_gradient(linear, scope.tokens());
  }
  return std::move(kernels).take();
}

std::vector<Kernel> ffn_input_weight_gradient(const BlockScope& scope, double hidden_size) {
  Sequence kernels(scope);
  kernels.weight_gradient(FfnShape(scope, hidden_size, 1, scope.plan.tp).up, scope.tokens());
  return std::move(kernels).take();
}

std::vector<Kernel> mtp_projection_forward(const BlockScope& scope) {
  const double hidden = scope.model.hidden;
  Sequence kernels(scope);
  norm_forward(kernels, scope);
  norm_forward(kernels, scope);
  kernels.forward({2 * hidden, hidden}, scope.norm_tokens());
  return std::move(kernels).take();
}

std::vector<Kernel> mtp_projection_backward(const BlockScope& scope, Gradients gradients) {
  const double hidden = scope.model.hidden;
  Sequence kernels(scope);
  kernels.backward({2 * hidden, hidden}, scope.norm_tokens(), gradients);
  if (has_activations(gradients)) {
    norm_backward(kernels, scope);
    norm_backward(kernels, scope);
  }
  return std::move(kernels).take();
}

std::vector<Kernel> ffn_forward(const BlockScope& scope, double hidden_size) {
  Sequence kernels(scope);
  norm_forward(kernels, scope);
  ffn_products_forward(kernels, FfnShape(scope, hidden_size, 1, scope.plan.tp), scope.tokens());
  residual_forward(kernels, scope);
  return std::move(kernels).take();
}

std::vector<Kernel> ffn_backward(const BlockScope& scope, double hidden_size, Gradients gradients) {
  Sequence kernels(scope);
  if (has_activations(gradients)) residual_backward(kernels, scope);
  ffn_products_backward(kernels, scope, FfnShape(scope, hidden_size, 1, scope.plan.tp), scope.tokens(),
                        gradients);
  if (has_activations(gradients)) norm_backward(kernels, scope);
  return std::move(kernels).take();
}

std::vector<Kernel> router_forward(const BlockScope& scope) {
  const double experts = scope.model.moe->experts;
  Sequence kernels(scope);
  if (scope.model.moe->shared_experts == 0)
    norm_forward(kernels, scope);  // else the shared experts' FFN has it
  kernels.product(Precision::kBf16, scope.norm_tokens(), experts, scope.model.hidden);
  kernels.memory(4 * kWide * scope.norm_tokens() * experts, 2);  // softmax in 32 bits, top-k
  const double routed = scope.norm_tokens() * scope.model.moe->top_k;
  kernels.memory(2 * routed_bytes(scope, routed));                    // permutation
  kernels.memory(routed_bytes(scope, routed + scope.norm_tokens()));  // once they are back: weighted sum
  return std::move(kernels).take();
}

std::vector<Kernel> router_backward(const BlockScope& scope, Gradients gradients) {
  const double experts = scope.model.moe->experts;
  const double hidden = scope.model.hidden;
  Sequence kernels(scope);
  if (has_activations(gradients)) {
    const double routed = scope.norm_tokens() * scope.model.moe->top_k;
    kernels.memory(2 * routed_bytes(scope, routed));
    kernels.memory(routed_bytes(scope, routed + scope.norm_tokens()));
    kernels.memory(4 * kWide * scope.norm_tokens() * experts, 2);
    kernels.product(Precision::kBf16, scope.norm_tokens(), hidden, experts);
    if (scope.model.moe->shared_experts == 0) {
      norm_backward(kernels, scope);
      residual_backward(kernels, scope);
    }
  }
  if (has_weights(gradients)) kernels.product(Precision::kBf16, hidden, experts, scope.norm_tokens());
  return std::move(kernels).take();
}

std::vector<Kernel> experts_forward(const BlockScope& scope, double tokens) {
  const double local = scope.held_experts();
  Sequence kernels(scope);
  kernels.memory(2 * routed_bytes(scope, tokens));  // sorted by expert
  ffn_products_forward(kernels, expert_shape(scope), padded(tokens, local));
  kernels.memory(2 * routed_bytes(scope, tokens));  // and back
  return std::move(kernels).take();
}

std::vector<Kernel> experts_backward(const BlockScope& scope, double tokens, Gradients gradients) {
  const double local = scope.held_experts();
  Sequence kernels(scope);
  if (has_activations(gradients)) kernels.memory(2 * routed_bytes(scope, tokens));
  ffn_products_backward(kernels, scope, expert_shape(scope), padded(tokens, local), gradients);
  if (has_activations(gradients)) kernels.memory(2 * routed_bytes(scope, tokens));
  return std::move(kernels).take();
}

std::vector<Kernel> embedding_forward(const BlockScope& scope) {
  Sequence kernels(scope);
  // Lookup with masks, positions, dropout: read and written some seven times.
  kernels.memory(15 * scope.tokens() * scope.model.hidden, 6);
  return std::move(kernels).take();
}

std::vector<Kernel> embedding_backward(const BlockScope& scope) {
  Sequence kernels(scope);
  kernels.memory(11 * scope.tokens() * scope.model.hidden, 3);
  kernels.memory(8 * scope.vocab_rows() * scope.model.hidden, 3);  // the table's gradient: zeroed, added to
  return std::move(kernels).take();
}

std::vector<Kernel> head_forward(const BlockScope& scope) {
  const double logits = scope.tokens() * scope.vocab_rows();
  Sequence kernels(scope);
  norm_forward(kernels, scope);
  kernels.product(Precision::kBf16, scope.tokens(), scope.vocab_rows(), scope.model.hidden);
  kernels.memory(6 * logits, 3);  // cross-entropy over 16-bit logits
  return std::move(kernels).take();
}

std::vector<Kernel> head_backward(const BlockScope& scope, Gradients gradients) {
  const double logits = scope.tokens() * scope.vocab_rows();
  const double hidden = scope.model.hidden;
  Sequence kernels(scope);
  if (has_activations(gradients)) {
    kernels.memory(8 * logits, 3);
    kernels.product(Precision::kBf16, scope.tokens(), hidden, scope.vocab_rows());
  }
  if (has_weights(gradients)) {
    kernels.product(Precision::kBf16, hidden, scope.vocab_rows(), scope.tokens());
    kernels.add_up(scope.vocab_rows() * hidden);
  }
  if (has_activations(gradients)) norm_backward(kernels, scope);
  return std::move(kernels).take();
}

}  // namespace goodput
