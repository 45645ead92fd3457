#include "models/launch/megatron_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "models/launch/list_expression.h"
#include "sim/base/text.h"

namespace goodput::launch {
namespace {

std::string default_of(const MegatronDialect& dialect) {
  return fmt::format("{}'s default", dialect.name);
}

// Settings whose value is that of a key.
struct DirectKey {
  std::string_view key;
  std::string_view pointer;
};

constexpr DirectKey kModelKeys[] = {
    {"num_layers", "/model/layers"},         {"encoder_num_layers", "/model/layers"},
    {"decoder_num_layers", "/model/layers"}, {"hidden_size", "/model/hidden"},
    {"num_attention_heads", "/model/heads"}, {"ffn_hidden_size", "/model/ffn"},
    {"vocab_size", "/model/vocab"},          {"mtp_num_layers", "/model/mtp_layers"},
};

constexpr DirectKey kExpertKeys[] = {
    {"moe_router_topk", "/model/moe/top_k"},
    {"moe_ffn_hidden_size", "/model/moe/expert_ffn"},
    {"moe_router_num_groups", "/model/moe/expert_groups"},
    {"moe_router_group_topk", "/model/moe/top_groups"},
};

constexpr DirectKey kLatentKeys[] = {
    {"q_lora_rank", "/model/latent/q_rank"},   {"kv_lora_rank", "/model/latent/kv_rank"},
    {"qk_head_dim", "/model/latent/nope_dim"}, {"qk_pos_emb_head_dim", "/model/latent/rope_dim"},
    {"v_head_dim", "/model/latent/value_dim"},
};

template <std::size_t kSize>
Status state_all(const DirectKey (&keys)[kSize], Settings& settings, LaunchDraft& draft) {
  for (const DirectKey& direct : keys)
    GOODPUT_TRY_STATUS(draft.state_integer(direct.pointer, settings.find(direct.key)));
  return Ok{};
}

class ModelReader {
 public:
  ModelReader(Settings& settings, const MegatronDialect& dialect, LaunchDraft& draft)
      : settings_(settings), dialect_(dialect), draft_(draft) {}

  Status read() {
    GOODPUT_TRY_STATUS(state_all(kModelKeys, settings_, draft_));
    const Setting* padded = settings_.find("padded_vocab_size");
    if (!draft_.has("/model/vocab")) GOODPUT_TRY_STATUS(draft_.state_integer("/model/vocab", padded));
    GOODPUT_TRY_STATUS(attention());
    GOODPUT_TRY_STATUS(feed_forward());
    GOODPUT_TRY_STATUS(biases());
    GOODPUT_TRY_STATUS(positions());
    GOODPUT_TRY_STATUS(head());
    return experts();
  }

 private:
  void assume(std::string_view pointer, std::string json) {
    if (dialect_.has_defaults) draft_.assume(pointer, std::move(json), default_of(dialect_));
  }

  Status attention() {
    const Setting* latent = settings_.find("multi_latent_attention");
    if (latent != nullptr) {
      GOODPUT_TRY(const bool is_on, flag_of(*latent));
      if (is_on) return latent_attention();
    }
    const Setting* grouped = settings_.find("group_query_attention");
    const Setting* groups = settings_.find({"num_query_groups", "num_key_value_heads"});
    GOODPUT_TRY_STATUS(draft_.state_integer("/model/head_dim", settings_.find("kv_channels")));
    if (const Setting* norm = settings_.find("qk_layernorm")) {
      GOODPUT_TRY(const bool is_on, flag_of(*norm));
      GOODPUT_TRY_STATUS(draft_.state("/model/qk_norm", is_on ? "true" : "false", *norm));
    }
    const bool is_on = grouped != nullptr && settings_.is_on("group_query_attention");
    const bool is_grouped = is_on || !dialect_.asks_for_groups || settings_.has("num_key_value_heads");
    if (groups != nullptr && is_grouped) return draft_.state_integer("/model/kv_heads", groups);
    if (groups != nullptr) {
      draft_.warn(*groups,
                  "has no effect without group_query_attention: every head has its own keys and values");
    } else if (is_on) {
      GOODPUT_TRY_STATUS(draft_.state("/model/kv_heads", "1", *grouped));
    }
    if (const auto heads = draft_.integer("/model/heads")) assume("/model/kv_heads", std::to_string(*heads));
    return Ok{};
  }

  Status latent_attention() {
    GOODPUT_TRY_STATUS(state_all(kLatentKeys, settings_, draft_));
    for (const char* ignored : {"kv_channels", "group_query_attention", "num_query_groups", "qk_layernorm"})
      settings_.skip(ignored);  // multi-latent attention has its own heads and norms
    assume("/model/latent/q_rank", "0");
    assume("/model/latent/kv_rank", "32");
    assume("/model/latent/nope_dim", "128");
    assume("/model/latent/rope_dim", "64");
    assume("/model/latent/value_dim", "128");
    return Ok{};
  }

  Status feed_forward() {
    const Setting* gated = settings_.find({"swiglu", "glu_activation", "quick_geglu"});
    if (gated != nullptr) {
      const Result<bool> flag = flag_of(*gated);
      const bool is_on = gated->key == "glu_activation" || (flag && *flag);
      GOODPUT_TRY_STATUS(draft_.state("/model/gated_ffn", is_on ? "true" : "false", *gated));
    } else {
      assume("/model/gated_ffn", "false");
    }
    settings_.skip("squared_relu");  // as many products as GELU
    const auto hidden = draft_.integer("/model/hidden");
    if (!hidden || !dialect_.has_default_ffn || *hidden > 1'000'000'000) return Ok{};
    // Two thirds, since SwiGLU has three matrices instead of two, rounded down to a multiple of 64.
    const bool is_gated =
        draft_.is_true("/model/gated_ffn") && !(gated != nullptr && gated->key == "quick_geglu");
    const std::int64_t ffn = is_gated ? *hidden * 8 / 3 / 64 * 64 : 4 * *hidden;
    draft_.assume("/model/ffn", std::to_string(ffn),
                  fmt::format("{}'s default: {}", dialect_.name,
                              is_gated ? "8/3 of hidden, rounded down to a multiple of 64" : "4 x hidden"));
    return Ok{};
  }

  Status biases() {
    const Setting* disabled = settings_.find("disable_bias_linear");
    const Setting* qkv = settings_.find("add_qkv_bias");
    const Setting* norm = settings_.find("normalization");
    const Setting* router = settings_.find("moe_router_enable_expert_bias");
    bool linears = true;
    bool has_qkv = false;
    bool norms = true;
    bool has_router = false;
    if (disabled != nullptr) {
      GOODPUT_TRY(const bool is_on, flag_of(*disabled));
      linears = !is_on;
    }
    if (qkv != nullptr) {
      GOODPUT_TRY(has_qkv, flag_of(*qkv));
    }
    if (router != nullptr) {
      GOODPUT_TRY(has_router, flag_of(*router));
    }
    if (norm != nullptr) {
      GOODPUT_TRY(const std::string name, text_of(*norm));
      norms = !equals_lower("rmsnorm", name);
      if (norms && !name.empty() && !equals_lower("layernorm", name) && !equals_lower("layernorm1p", name))
        return norm->error("must be LayerNorm or RMSNorm");
    }
    std::vector<std::string_view> parts;
    if (linears || has_qkv) parts.push_back("qkv");
    if (linears) parts.insert(parts.end(), {"attention_output", "ffn"});
    if (norms) parts.push_back("norm");
    if (has_router) parts.push_back("router");
    std::string json = fmt::format("[\"{}\"]", fmt::join(parts, "\",\""));
    if (parts.empty()) json = "false";
    if (linears && norms && !has_router) json = "true";
    if (has_qkv && !draft_.fixed_model.empty() && draft_.find("/model/biases") != nullptr &&
        draft_.find("/model/biases")->json == "false")
      return qkv->error(fmt::format("contradicts {}, which has no biases", draft_.fixed_model));
    const Setting* by = disabled != nullptr ? disabled
                        : qkv != nullptr    ? qkv
                        : norm != nullptr   ? norm
                                            : router;
    if (by != nullptr) return draft_.state("/model/biases", json, *by);
    assume("/model/biases", json);
    return Ok{};
  }

  Status positions() {
    const Setting* rotary = settings_.find("use_rotary_position_embeddings");
    const Setting* type = settings_.find("position_embedding_type");
    const Setting* rows = settings_.find("max_position_embeddings");
    settings_.skip("no_position_embedding");
    if (type == nullptr && rotary == nullptr && !draft_.fixed_model.empty())
      return Ok{};  // the model says it
    std::string name = "learned_absolute";
    if (type != nullptr) {
      GOODPUT_TRY(name, text_of(*type));
    } else if (rotary != nullptr && settings_.is_on("use_rotary_position_embeddings")) {
      type = rotary;
      name = "rope";
    }
    if (name == "alibi")
      draft_.warn(*type, "biases of attention by distance are not modeled: treated as free");
    if (name != "learned_absolute") return draft_.state("/model/learned_positions", "0", *type);
    if (rows != nullptr) return draft_.state_integer("/model/learned_positions", rows);
    if (const Setting* length = settings_.find({"seq_length", "encoder_seq_length"})) {
      GOODPUT_TRY(const std::int64_t tokens, integer_of(*length));
      assume("/model/learned_positions", std::to_string(tokens));
    }
    return Ok{};
  }

  Status head() {
    const Setting* untied = settings_.find("untie_embeddings_and_output_weights");
    if (untied != nullptr) {
      GOODPUT_TRY(const bool is_on, flag_of(*untied));
      GOODPUT_TRY_STATUS(draft_.state("/model/tied_head", is_on ? "false" : "true", *untied));
    } else {
      assume("/model/tied_head", "true");
    }
    const std::string tokenizer = settings_.text("tokenizer_type");
    const bool is_default = tokenizer.empty() && dialect_.has_gpt2_tokenizer && settings_.has("merge_file");
    if (is_default || tokenizer == "GPT2BPETokenizer")
      draft_.assume("/model/vocab", "50257", "the vocabulary of GPT2BPETokenizer");
    return Ok{};
  }

  Status experts() {
    const Setting* count = settings_.find("num_experts");
    if (count != nullptr) {
      if (count->is_list)
        return count->error("must be one number: layers with different numbers of experts are not modeled");
      GOODPUT_TRY(const std::int64_t experts, integer_of(*count));
      if (experts == 1 && dialect_.is_deepspeed) return Ok{};  // its default: no experts
      GOODPUT_TRY_STATUS(draft_.state_integer("/model/moe/experts", count));
    }
    if (!draft_.has("/model/moe/experts")) return Ok{};
    GOODPUT_TRY_STATUS(state_all(kExpertKeys, settings_, draft_));
    GOODPUT_TRY_STATUS(draft_.state_integer("/model/moe/top_k", settings_.find("topk")));
    assume("/model/moe/top_k", dialect_.is_deepspeed ? "1" : "2");
    if (const DraftValue* ffn = draft_.find("/model/ffn"))
      draft_.assume("/model/moe/expert_ffn", ffn->json, "as wide as a dense FFN");
    GOODPUT_TRY_STATUS(expert_layers());
    return shared_experts();
  }

  Status expert_layers() {
    if (dialect_.is_deepspeed) return every_other_layer();
    const Setting* pattern = settings_.find("moe_layer_freq");
    if (pattern == nullptr) return Ok{};
    GOODPUT_TRY(const std::string text,
                pattern->is_list ? fmt::format("[{}]", fmt::join(pattern->texts, ",")) : text_of(*pattern));
    if (const auto step = parse_integer(text))
      return draft_.state("/model/moe/layer_step", std::to_string(*step), *pattern);
    const auto has_experts = list_of_integers(text);
    if (!has_experts)
      return pattern->error("must be a number or a list of zeros and ones, such as ([0]*3+[1]*58)");
    const auto layers = draft_.integer("/model/layers");
    if (layers && *layers != static_cast<std::int64_t>(has_experts->size())) {
      return pattern->error(
          fmt::format("has {} entries, but the model has {} layers", has_experts->size(), *layers));
    }
    std::vector<std::size_t> chosen;
    for (std::size_t layer = 0; layer < has_experts->size(); ++layer)
      if (has_experts->at(layer) != 0) chosen.push_back(layer);
    if (chosen.empty()) return pattern->error("gives no layer experts; remove the number of experts");
    const bool is_tail =
        chosen.back() - chosen.front() + 1 == chosen.size() && chosen.back() + 1 == has_experts->size();
    if (is_tail) return draft_.state("/model/moe/first_layer", std::to_string(chosen.front()), *pattern);
    return draft_.state("/model/moe/layers", fmt::format("[{}]", fmt::join(chosen, ",")), *pattern);
  }

  // Megatron-DeepSpeed: every expert_interval-th layer, counted from 1.
  Status every_other_layer() {
    const Setting* interval = settings_.find("expert_interval");
    GOODPUT_TRY(const std::int64_t every,
                interval != nullptr ? integer_of(*interval) : Result<std::int64_t>(2));
    if (every < 1 || every > 10'000) return interval->error("must be from 1 to 10000");
    const std::string why =
        interval != nullptr ? origin_of(*interval) : "Megatron-DeepSpeed's default: every second layer";
    draft_.set("/model/moe/first_layer", std::to_string(every - 1), why,
               interval != nullptr ? Basis::kStated : Basis::kAssumed);
    draft_.set("/model/moe/layer_step", std::to_string(every), why,
               interval != nullptr ? Basis::kStated : Basis::kAssumed);
    return Ok{};
  }

  Status shared_experts() {
    const Setting* gate = settings_.find("moe_shared_expert_gate");
    if (gate != nullptr) {
      GOODPUT_TRY(const bool is_on, flag_of(*gate));
      GOODPUT_TRY_STATUS(draft_.state("/model/moe/shared_gate", is_on ? "true" : "false", *gate));
    }
    const Setting* width = settings_.find("moe_shared_expert_intermediate_size");
    if (width == nullptr) return Ok{};
    GOODPUT_TRY(const std::int64_t shared, integer_of(*width));
    const std::int64_t one = draft_.integer_or("/model/moe/expert_ffn", 0);
    if (one <= 0) return Ok{};
    if (shared % one != 0 || shared < 0) {
      return width->error(fmt::format(
          "must be a multiple of the size of an expert ({}); other shared experts are not modeled", one));
    }
    return draft_.state("/model/moe/shared_experts", std::to_string(shared / one), *width);
  }

  Settings& settings_;
  const MegatronDialect& dialect_;
  LaunchDraft& draft_;
};

}  // namespace

Status read_megatron_model(Settings& settings, const MegatronDialect& dialect, LaunchDraft& draft) {
  return ModelReader(settings, dialect, draft).read();
}

}  // namespace goodput::launch
