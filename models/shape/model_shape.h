// The shape of a decoder-only transformer: what determines its parameters, FLOPs and bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/config/config.h"

namespace goodput {

inline constexpr config::Kind kModelFiles{"models", "model"};

// Multi-head latent attention (DeepSeek-V2): queries and keys/values pass through low-rank projections.
struct LatentAttention {
  std::int32_t q_rank = 0;  // 0: queries are projected directly
  std::int32_t kv_rank = 0;
  std::int32_t nope_dim = 0;   // of a head, without position
  std::int32_t rope_dim = 0;   // of a head, with rotary position; keys share one
  std::int32_t value_dim = 0;  // of a head
};

// Which parts have biases. Converts from "all of them but the router" and "none".
struct BiasedParts {
  bool qkv = false;  // the projections to queries, keys and values (Qwen2)
  bool attention_output = false;
  bool ffn = false;     // FFNs and experts
  bool norm = false;    // LayerNorm; RMSNorm has none
  bool router = false;  // of experts, with DeepSeek-V3's correction of their scores

  constexpr BiasedParts() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as in a file
  constexpr BiasedParts(bool linears_and_norms)
      : qkv(linears_and_norms),
        attention_output(linears_and_norms),
        ffn(linears_and_norms),
        norm(linears_and_norms) {}

  // Of what is added to the residual stream.
  [[nodiscard]] constexpr bool residual() const { return attention_output || ffn; }
  friend constexpr bool operator==(const BiasedParts&, const BiasedParts&) = default;
};

struct MoeShape {
  std::int32_t experts = 0;
  std::int32_t top_k = 1;
  std::int32_t expert_ffn = 0;      // hidden size of one expert
  std::int32_t shared_experts = 0;  // that see every token
  bool shared_gate = false;         // a learned factor of the shared experts' output (Qwen2-MoE)
  // Which decoder layers have experts instead of the dense FFN: `layers`, ascending; empty: from first_layer
  // on every layer_step-th.
  std::vector<std::int32_t> layers{};
  std::int32_t first_layer = 0;
  std::int32_t layer_step = 1;
  // Group-limited routing (DeepSeek-V3): the experts are in so many groups of consecutive ones, and those of
  // a token in at most top_groups of them. 0: any experts.
  std::int32_t expert_groups = 0;
  std::int32_t top_groups = 0;
};

struct ModelShape {
  std::string name{};
  std::int32_t layers = 0;
  std::int32_t hidden = 0;
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;                // fewer than heads: grouped-query attention; 0 in a file: as many
  std::int32_t head_dim = 0;                // 0 in a file: hidden / heads
  std::optional<LatentAttention> latent{};  // instead of kv_heads and head_dim
  std::int32_t ffn = 0;                     // hidden size of a dense FFN
  bool gated_ffn = false;                   // SwiGLU: three matrices instead of two
  BiasedParts biases{};
  bool qk_norm = false;          // a norm of each head's query and key (Qwen3)
  bool attention_sinks = false;  // a learned logit per head that takes up attention (gpt-oss)
  std::int32_t vocab = 0;
  std::int32_t learned_positions = 0;  // rows of a learned position embedding; 0: rotary
  bool tied_head = false;              // the output projection is the embedding
  std::int32_t mtp_layers = 0;  // multi-token prediction: further decoder layers, each with a projection
  Bytes attention_buffers{};    // each attention keeps untrained, in checkpoints too (causal masks of GPT-2)
  std::optional<MoeShape> moe{};

  [[nodiscard]] bool is_moe_layer(std::int32_t layer) const;
};

// Numbers of parameters.
struct LayerParameters {
  std::int64_t attention = 0;  // with its norm
  std::int64_t ffn = 0;        // dense FFN or shared experts, with its norm
  std::int64_t router = 0;
  std::int64_t routed_experts = 0;  // all of them
  [[nodiscard]] std::int64_t total() const { return attention + ffn + router + routed_experts; }
};
[[nodiscard]] LayerParameters layer_parameters(const ModelShape& model, std::int32_t layer);

struct ModelParameters {
  std::int64_t total = 0;      // with embeddings; without multi-token prediction
  std::int64_t activated = 0;  // that one token uses: top_k of the experts
  std::int64_t embedding = 0;  // input table and learned positions
  std::int64_t head = 0;       // 0 when tied
  std::int64_t final_norm = 0;
  std::int64_t mtp = 0;  // of the multi-token-prediction layers, not in total; they share embedding and head
};
[[nodiscard]] ModelParameters model_parameters(const ModelShape& model);

// Floating-point operations of one token's forward and backward pass that count as useful (MFU): 3 x the
// forward's matrix multiplications, without recomputation. Attention scores count as the causal half; of the
// experts top_k and the shared ones; multi-token prediction does not count.
[[nodiscard]] double useful_flops_per_token(const ModelShape& model, std::int64_t sequence_length);

inline constexpr double kMostParameters = 1e16;  // of any model: keeps every count of ours inside 63 bits

// configs/models/*.json (docs/formats/models.md).
[[nodiscard]] config::Fields config_fields(ModelShape& model);
[[nodiscard]] config::Fields config_fields(LatentAttention& latent);
[[nodiscard]] config::Fields config_fields(MoeShape& moe);
// Fills in kv_heads and head_dim and checks the rules between fields.
[[nodiscard]] Status config_finish(ModelShape& model);

}  // namespace goodput
