#include "models/shape/model_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace goodput {
namespace {

// Parameters of matrices are what a token is multiplied with; the rest is biases and norms.
struct Weights {
  std::int64_t matrices = 0;
  std::int64_t rest = 0;

  [[nodiscard]] std::int64_t total() const { return matrices + rest; }
  friend Weights operator+(Weights a, Weights b) { return {a.matrices + b.matrices, a.rest + b.rest}; }
  friend Weights operator*(std::int64_t times, Weights a) { return {times * a.matrices, times * a.rest}; }
};

Weights linear(std::int64_t inputs, std::int64_t outputs, bool has_bias) {
  return {inputs * outputs, has_bias ? outputs : 0};
}

// RMSNorm has a scale, LayerNorm a bias too.
Weights norm(const ModelShape& model, std::int64_t width) {
  return {0, (model.biases.norm ? 2 : 1) * width};
}

// DeepSeek-V2 (arXiv 2405.04434) section 2.1: down to the ranks, norm, up to the heads; the rotary part of
// the keys comes with the first of them.
Weights latent_attention(const ModelShape& model, const LatentAttention& latent) {
  const std::int64_t heads = model.heads;
  const std::int64_t query = heads * (latent.nope_dim + latent.rope_dim);
  const bool has_bias = model.biases.qkv;
  const Weights queries = latent.q_rank == 0
                              ? linear(model.hidden, query, has_bias)
                              : linear(model.hidden, latent.q_rank, has_bias) + norm(model, latent.q_rank) +
                                    linear(latent.q_rank, query, has_bias);
  return queries + linear(model.hidden, latent.kv_rank + latent.rope_dim, has_bias) +
         norm(model, latent.kv_rank) +
         linear(latent.kv_rank, heads * (latent.nope_dim + latent.value_dim), has_bias) +
         linear(heads * latent.value_dim, model.hidden, model.biases.attention_output);
}

// What queries and keys pass through before they meet, and what takes up attention.
Weights score_weights(const ModelShape& model) {
  const Weights norms = model.qk_norm ? 2 * norm(model, model.head_dim) : Weights{};
  return norms + Weights{0, model.attention_sinks ? model.heads : 0};
}

Weights attention(const ModelShape& model) {
  if (model.latent) return latent_attention(model, *model.latent);
  const std::int64_t query = std::int64_t{model.heads} * model.head_dim;
  const std::int64_t key = std::int64_t{model.kv_heads} * model.head_dim;
  return linear(model.hidden, query, model.biases.qkv) + 2 * linear(model.hidden, key, model.biases.qkv) +
         linear(query, model.hidden, model.biases.attention_output) + score_weights(model);
}

Weights feed_forward(const ModelShape& model, std::int64_t width) {
  const bool has_bias = model.biases.ffn;
  return (model.gated_ffn ? 2 : 1) * linear(model.hidden, width, has_bias) +
         linear(width, model.hidden, has_bias);
}

struct LayerWeights {
  Weights attention;
  Weights ffn;
  Weights router;
  Weights expert;  // one
};

LayerWeights layer_weights(const ModelShape& model, bool has_experts) {
  LayerWeights layer;
  layer.attention = attention(model) + norm(model, model.hidden);
  layer.ffn = norm(model, model.hidden);
  if (!has_experts) {
    layer.ffn = layer.ffn + feed_forward(model, model.ffn);
    return layer;
  }
  const MoeShape& moe = *model.moe;
  layer.ffn = layer.ffn + moe.shared_experts * feed_forward(model, moe.expert_ffn);
  if (moe.shared_gate) layer.ffn = layer.ffn + linear(model.hidden, 1, false);
  layer.router = linear(model.hidden, moe.experts, model.biases.router);
  layer.expert = feed_forward(model, moe.expert_ffn);
  return layer;
}

// Two norms, the projection of [embedding, hidden state] and a final norm around a decoder layer of the
// last's kind (DeepSeek-V3, arXiv 2412.19437, section 2.2).
Weights mtp_layer(const ModelShape& model) {
  const LayerWeights layer = layer_weights(model, model.is_moe_layer(model.layers - 1));
  const std::int64_t experts = model.moe ? model.moe->experts : 0;
  return linear(std::int64_t{2} * model.hidden, model.hidden, model.biases.ffn) +
         3 * norm(model, model.hidden) + layer.attention + layer.ffn + layer.router + experts * layer.expert;
}

// Query times key and score times value, of one token, over all that precede it: half the sequence on
// average.
double attention_score_flops(const ModelShape& model, std::int64_t sequence_length) {
  const std::int64_t widths = model.latent
                                  ? model.latent->nope_dim + model.latent->rope_dim + model.latent->value_dim
                                  : 2 * model.head_dim;
  return static_cast<double>(sequence_length) * model.heads * static_cast<double>(widths);
}

}  // namespace

bool ModelShape::is_moe_layer(std::int32_t layer) const {
  if (!moe) return false;
  if (!moe->layers.empty()) return std::binary_search(moe->layers.begin(), moe->layers.end(), layer);
  return layer >= moe->first_layer && (layer - moe->first_layer) % moe->layer_step == 0;
}

LayerParameters layer_parameters(const ModelShape& model, std::int32_t layer) {
  const LayerWeights weights = layer_weights(model, model.is_moe_layer(layer));
  return {weights.attention.total(), weights.ffn.total(), weights.router.total(),
          (model.moe ? model.moe->experts : 0) * weights.expert.total()};
}

ModelParameters model_parameters(const ModelShape& model) {
  ModelParameters parameters;
  parameters.embedding = std::int64_t{model.hidden} * (std::int64_t{model.vocab} + model.learned_positions);
  parameters.head = model.tied_head ? 0 : std::int64_t{model.hidden} * model.vocab;
  parameters.final_norm = norm(model, model.hidden).total();
  parameters.total = parameters.embedding + parameters.head + parameters.final_norm;
  parameters.activated = parameters.total;
  for (std::int32_t layer = 0; layer < model.layers; ++layer) {
    const LayerParameters of_layer = layer_parameters(model, layer);
    parameters.total += of_layer.total();
    parameters.activated += of_layer.total() - of_layer.routed_experts;
    if (of_layer.routed_experts > 0)
      parameters.activated += of_layer.routed_experts / model.moe->experts * model.moe->top_k;
  }
  if (model.mtp_layers > 0) parameters.mtp = model.mtp_layers * mtp_layer(model).total();
  return parameters;
}

double useful_flops_per_token(const ModelShape& model, std::int64_t sequence_length) {
  std::int64_t matrices = std::int64_t{model.hidden} * model.vocab;
  for (std::int32_t layer = 0; layer < model.layers; ++layer) {
    const LayerWeights weights = layer_weights(model, model.is_moe_layer(layer));
    const std::int64_t used = model.moe ? model.moe->top_k : 0;
    matrices += (weights.attention + weights.ffn + weights.router + used * weights.expert).matrices;
  }
  return 3 *
         (2 * static_cast<double>(matrices) + model.layers * attention_score_flops(model, sequence_length));
}

}  // namespace goodput
