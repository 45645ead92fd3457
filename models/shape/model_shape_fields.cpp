// configs/models/*.json.
#include <fmt/format.h>

#include <algorithm>

#include "models/shape/model_shape.h"
#include "sim/base/json.h"

namespace goodput {
namespace {

using config::Need;

constexpr std::int64_t kMostLayers = 10'000;
constexpr std::int64_t kMostWidth = 1'000'000;

Status check_attention(const ModelShape& model) {
  if (model.latent) {
    if (model.kv_heads != 0)
      return Error{"has no effect with \"latent\"; remove this key", {.pointer = "/kv_heads"}};
    if (model.head_dim != 0)
      return Error{"has no effect with \"latent\"; remove this key", {.pointer = "/head_dim"}};
    if (model.qk_norm)
      return Error{"has no effect with \"latent\"; remove this key", {.pointer = "/qk_norm"}};
    return Ok{};
  }
  if (model.head_dim == 0) {
    return Error{
        fmt::format("is missing, and hidden ({}) is not a multiple of heads ({})", model.hidden, model.heads),
        {.pointer = "/head_dim"}};
  }
  if (model.heads % model.kv_heads != 0) {
    return Error{fmt::format("must be a divisor of heads ({}), not {}", model.heads, model.kv_heads),
                 {.pointer = "/kv_heads"}};
  }
  return Ok{};
}

Status check_groups(const MoeShape& moe) {
  if (moe.expert_groups == 0 && moe.top_groups == 0) return Ok{};
  if (moe.expert_groups == 0)
    return Error{"has no effect without expert_groups", {.pointer = "/moe/top_groups"}};
  if (moe.experts % moe.expert_groups != 0) {
    return Error{fmt::format("must be a divisor of the number of experts ({}), not {}", moe.experts,
                             moe.expert_groups),
                 {.pointer = "/moe/expert_groups"}};
  }
  if (moe.top_groups == 0) return Error{"is missing; expert_groups needs it", {.pointer = "/moe/top_groups"}};
  const std::int32_t size = moe.experts / moe.expert_groups;
  const std::int32_t least = (moe.top_k + size - 1) / size;
  if (moe.top_groups >= least && moe.top_groups <= moe.expert_groups) return Ok{};
  return Error{fmt::format("must be from {} (top_k {} / {} experts per group) to {}, not {}", least,
                           moe.top_k, size, moe.expert_groups, moe.top_groups),
               {.pointer = "/moe/top_groups"}};
}

Status check_moe(const ModelShape& model) {
  const MoeShape& moe = *model.moe;
  if (moe.top_k > moe.experts)
    return Error{fmt::format("must be at most the number of experts ({}), not {}", moe.experts, moe.top_k),
                 {.pointer = "/moe/top_k"}};
  GOODPUT_TRY_STATUS(check_groups(moe));
  for (std::size_t i = 0; i < moe.layers.size(); ++i) {
    if (moe.layers[i] >= model.layers || (i > 0 && moe.layers[i] <= moe.layers[i - 1])) {
      return Error{
          fmt::format("is {}; layers must be in ascending order and below {}", moe.layers[i], model.layers),
          {.pointer = fmt::format("/moe/layers/{}", i)}};
    }
  }
  if (moe.layers.empty() && moe.first_layer >= model.layers) {
    return Error{fmt::format("must be below {}, the number of layers, not {}", model.layers, moe.first_layer),
                 {.pointer = "/moe/first_layer"}};
  }
  return Ok{};
}

bool has_dense_layer(const ModelShape& model) {
  for (std::int32_t layer = 0; layer < model.layers; ++layer) {
    if (!model.is_moe_layer(layer)) return true;
  }
  return false;
}

// An upper bound: as if every layer had the dense FFN and the experts.
double parameters_at_most(const ModelShape& model) {
  const double hidden = model.hidden;
  const double experts =
      model.moe ? (1.0 + model.moe->experts + model.moe->shared_experts) * model.moe->expert_ffn : 0;
  double heads = static_cast<double>(model.heads) * std::max(model.head_dim, 1);
  if (model.latent) {
    const LatentAttention& latent = *model.latent;
    const double head = static_cast<double>(latent.nope_dim) + latent.rope_dim + latent.value_dim;
    heads = model.heads * head * (1 + (static_cast<double>(latent.q_rank) + latent.kv_rank) / hidden) +
            latent.q_rank + latent.kv_rank + latent.rope_dim;
  }
  return hidden * (2.0 * model.vocab + model.learned_positions) +
         (static_cast<double>(model.layers) + model.mtp_layers) * hidden *
             (4 * heads + 3.0 * model.ffn + 3 * experts + 2 * hidden);
}

// Refuses what models/shape/model_file.h reads.
config::Value no_swin() {
  const auto refuse = [](const Json& /*value*/, const config::Place& place) -> Status {
    return place.error(
        "describes a Swin transformer, which only goodput checkpoint supports; use a decoder model");
  };
  return {"absent", refuse, {}, {}};
}

struct BiasedPart {
  std::string_view name;
  bool BiasedParts::*has;
};
constexpr BiasedPart kBiasedParts[] = {{"qkv", &BiasedParts::qkv},
                                       {"attention_output", &BiasedParts::attention_output},
                                       {"ffn", &BiasedParts::ffn},
                                       {"norm", &BiasedParts::norm},
                                       {"router", &BiasedParts::router}};

// True and false are what most models have; a list names the parts.
config::Value biased_parts(BiasedParts& parts) {
  const std::string wanted =
      R"(true, false or an array of "qkv", "attention_output", "ffn", "norm", "router")";
  const auto read = [&parts, wanted](const Json& from, const config::Place& place) -> Status {
    if (!from.is_boolean() && !from.is_array()) return place.not_wanted(from, wanted);
    parts = BiasedParts(from.is_boolean() && from.get<bool>());
    for (std::size_t i = 0; from.is_array() && i < from.size(); ++i) {
      const Json& name = from.at(i);
      const auto* const part = std::ranges::find_if(
          kBiasedParts, [&](const BiasedPart& known) { return name == std::string(known.name); });
      if (part == std::end(kBiasedParts))
        return place.at(std::to_string(i))
            .not_wanted(name, R"(one of "qkv", "attention_output", "ffn", "norm", "router")");
      parts.*part->has = true;
    }
    return Ok{};
  };
  const auto write = [&parts](OrderedJson& into) {
    into = parts == BiasedParts(true);
    if (into.get<bool>() || parts == BiasedParts(false)) return;
    into = OrderedJson::array();
    for (const BiasedPart& part : kBiasedParts)
      if (parts.*part.has) into.push_back(part.name);
  };
  return {wanted, read, write, {}};
}

// Written if it is true: most models have no such part.
config::Value rare(bool& has) {
  config::Value value = config::flag(has);
  value.write = [&has](OrderedJson& into) {
    if (has) into = true;
  };
  return value;
}

// Written unless it is 0.
config::Value groups(std::int32_t& count) {
  config::Value value = config::integer(count, 1, 65'536);
  value.write = [&count](OrderedJson& into) {
    if (count > 0) into = count;
  };
  return value;
}

// Written where there are any.
config::Value buffers(Bytes& bytes) {
  config::Value value = config::integer(bytes.value, 0, 1'000'000'000'000);
  value.write = [&bytes](OrderedJson& into) {
    if (bytes.value > 0) into = bytes.value;
  };
  return value;
}

}  // namespace

config::Fields config_fields(LatentAttention& latent) {
  return {
      {"q_rank", Need::kOptional, config::integer(latent.q_rank, 0, kMostWidth),
       "rank of the query projection; 0: queries are projected directly"},
      {"kv_rank", Need::kRequired, config::integer(latent.kv_rank, 1, kMostWidth),
       "rank of the projection of keys and values"},
      {"nope_dim", Need::kRequired, config::integer(latent.nope_dim, 1, kMostWidth),
       "dimension of the part of a head without position"},
      {"rope_dim", Need::kRequired, config::integer(latent.rope_dim, 0, kMostWidth),
       "dimension of the part of a head with rotary position; all keys share this part"},
      {"value_dim", Need::kRequired, config::integer(latent.value_dim, 1, kMostWidth),
       "dimension of the values of a head"},
  };
}

config::Fields config_fields(MoeShape& moe) {
  return {
      {"experts", Need::kRequired, config::integer(moe.experts, 1, 65'536),
       "number of routed experts per layer"},
      {"top_k", Need::kRequired, config::integer(moe.top_k, 1, 65'536),
       "number of experts that each token is sent to"},
      {"expert_ffn", Need::kRequired, config::integer(moe.expert_ffn, 1, kMostWidth),
       "hidden size of one expert"},
      {"shared_experts", Need::kOptional, config::integer(moe.shared_experts, 0, 65'536),
       "number of experts that process every token"},
      {"shared_gate", Need::kOptional, rare(moe.shared_gate),
       "whether the output of the shared experts has a learned factor (Qwen2-MoE)"},
      {"layers", Need::kOptional, config::integers(moe.layers, 0, kMostLayers),
       "list of decoder layers that have experts (default: given by first_layer and layer_step)"},
      {"first_layer", Need::kOptional, config::integer(moe.first_layer, 0, kMostLayers),
       "first layer that has experts"},
      {"layer_step", Need::kOptional, config::integer(moe.layer_step, 1, kMostLayers),
       "every layer_step-th layer from first_layer on has experts"},
      {"expert_groups", Need::kOptional, groups(moe.expert_groups),
       "group-limited routing: number of groups of consecutive experts, n_group of DeepSeek-V3 (default: no "
       "groups)"},
      {"top_groups", Need::kOptional, groups(moe.top_groups),
       "number of groups that the experts of a token may be in, topk_group of DeepSeek-V3; required with "
       "expert_groups"},
  };
}

config::Fields config_fields(ModelShape& model) {
  return {
      {"swin", Need::kOptional, no_swin(),
       "shape of a Swin transformer instead of the other keys; only `goodput checkpoint` supports it"},
      {"name", Need::kRequired, config::text(model.name), "name for reports"},
      {"layers", Need::kRequired, config::integer(model.layers, 1, kMostLayers), "number of decoder layers"},
      {"hidden", Need::kRequired, config::integer(model.hidden, 1, kMostWidth), "width of the model"},
      {"heads", Need::kRequired, config::integer(model.heads, 1, kMostWidth), "number of attention heads"},
      {"kv_heads", Need::kOptional, config::integer(model.kv_heads, 0, kMostWidth),
       "number of key and value heads; fewer than heads: grouped-query attention; 0: as many as heads"},
      {"head_dim", Need::kOptional, config::integer(model.head_dim, 0, kMostWidth),
       "dimension of a head; 0: hidden / heads"},
      {"latent", Need::kOptional, config::object(model.latent),
       "multi-head latent attention instead of kv_heads and head_dim"},
      {"ffn", Need::kOptional, config::integer(model.ffn, 0, kMostWidth),
       "hidden size of a dense FFN; required if any layer has one"},
      {"gated_ffn", Need::kOptional, config::flag(model.gated_ffn),
       "whether FFNs use SwiGLU, which has three matrices instead of two"},
      {"biases", Need::kOptional, biased_parts(model.biases),
       "which parts have biases; true: linear layers and norms, but not routers (GPT-2 and 3)"},
      {"qk_norm", Need::kOptional, rare(model.qk_norm),
       "whether the query and the key of each head pass through a norm (Qwen3)"},
      {"attention_sinks", Need::kOptional, rare(model.attention_sinks),
       "whether each head has a learned logit that takes up attention (gpt-oss)"},
      {"vocab", Need::kRequired, config::integer(model.vocab, 1, 100'000'000),
       "number of rows of the embedding"},
      {"learned_positions", Need::kOptional, config::integer(model.learned_positions, 0, 100'000'000),
       "number of rows of a learned position embedding; 0: rotary positions"},
      {"tied_head", Need::kOptional, config::flag(model.tied_head),
       "whether the output projection shares the weights of the embedding"},
      {"mtp_layers", Need::kOptional, config::integer(model.mtp_layers, 0, 100),
       "number of additional decoder layers for multi-token prediction, each with a projection"},
      {"attention_buffer_bytes", Need::kOptional, buffers(model.attention_buffers),
       "bytes per attention layer of buffers that are in checkpoints but not trained, such as GPT-2's causal "
       "masks (default: no buffers)"},
      {"moe", Need::kOptional, config::object(model.moe), "mixture of experts"},
  };
}

Status config_finish(ModelShape& model) {
  if (!model.latent) {
    if (model.kv_heads == 0) model.kv_heads = model.heads;
    if (model.head_dim == 0 && model.hidden % model.heads == 0) model.head_dim = model.hidden / model.heads;
  }
  GOODPUT_TRY_STATUS(check_attention(model));
  if (model.moe) GOODPUT_TRY_STATUS(check_moe(model));
  if (model.ffn == 0 && has_dense_layer(model))
    return Error{"is missing; layers without experts need it", {.pointer = "/ffn"}};
  if (parameters_at_most(model) > kMostParameters)
    return Error{"the model would have more than 1e16 parameters; reduce its layers or widths",
                 {.pointer = "/layers"}};
  return Ok{};
}

}  // namespace goodput
