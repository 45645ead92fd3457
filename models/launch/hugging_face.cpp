// config.json of Hugging Face transformers: the shape of a model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "models/launch/launch_format.h"
#include "models/launch/structured_text.h"
#include "sim/base/registry.h"
#include "sim/base/text.h"

namespace goodput::launch {
namespace {

// What the modeling code of an architecture has, and how its configuration calls the sizes. Keys that are
// absent have the defaults of the configuration's class.
struct Architecture {
  std::string_view type;  // model_type
  std::string_view title;
  bool is_gated = true;
  std::string_view biases = "false";     // JSON of a model's "biases"
  bool can_have_attention_bias = false;  // attention_bias adds those of all four projections
  bool has_qk_norm = false;
  bool has_sinks = false;
  bool is_tied = false;  // tie_word_embeddings, where it is absent
  enum class Experts { kNone, kMixtral, kQwen2, kQwen3, kDeepSeek, kGptOss } experts = Experts::kNone;
  std::int64_t kv_heads = 0;       // num_key_value_heads, where it is absent; 0: as many as heads
  std::int64_t head_dim = 0;       // 0: hidden / heads
  std::int64_t experts_count = 0;  // 0: must be given
  std::int64_t top_k = 0;
  std::int64_t sliding_window = 0;  // where the key is absent; 0: none
};
using Experts = Architecture::Experts;

constexpr Architecture kArchitectures[] = {
    {.type = "llama", .title = "Llama", .can_have_attention_bias = true},
    {.type = "mistral", .title = "Mistral", .kv_heads = 8, .sliding_window = 4096},
    {.type = "qwen2", .title = "Qwen2", .biases = R"(["qkv"])"},
    {.type = "qwen3",
     .title = "Qwen3",
     .can_have_attention_bias = true,
     .has_qk_norm = true,
     .kv_heads = 32,
     .head_dim = 128},
    {.type = "mixtral",
     .title = "Mixtral",
     .experts = Experts::kMixtral,
     .kv_heads = 8,
     .experts_count = 8,
     .top_k = 2},
    {.type = "qwen2_moe", .title = "Qwen2-MoE", .biases = R"(["qkv"])", .experts = Experts::kQwen2},
    {.type = "qwen3_moe",
     .title = "Qwen3-MoE",
     .can_have_attention_bias = true,
     .has_qk_norm = true,
     .experts = Experts::kQwen3},
    {.type = "deepseek_v2", .title = "DeepSeek-V2", .experts = Experts::kDeepSeek},
    {.type = "deepseek_v3", .title = "DeepSeek-V3", .biases = R"(["router"])", .experts = Experts::kDeepSeek},
    {.type = "gpt2", .title = "GPT-2", .is_gated = false, .biases = "true", .is_tied = true},
    {.type = "gpt_neox", .title = "GPT-NeoX", .is_gated = false, .biases = "true"},
    {.type = "gpt_oss",
     .title = "gpt-oss",
     .biases = R"(["qkv","attention_output","ffn","router"])",
     .has_sinks = true,
     .experts = Experts::kGptOss,
     .kv_heads = 8,
     .head_dim = 64},
};

struct SizeKey {
  std::string_view pointer;
  std::string_view key;
  std::string_view other_key;  // of GPT-2 and others
};
constexpr SizeKey kSizes[] = {
    {"/model/layers", "num_hidden_layers", "n_layer"}, {"/model/hidden", "hidden_size", "n_embd"},
    {"/model/heads", "num_attention_heads", "n_head"}, {"/model/vocab", "vocab_size", ""},
    {"/model/ffn", "intermediate_size", "n_inner"},
};

// Keys that change what a model computes and that no architecture above has by default.
constexpr std::string_view kOddKeys[] = {"sliding_window", "attention_chunk_size", "num_experts_per_token",
                                         "index_topk"};

class ConfigReader {
 public:
  ConfigReader(Settings& settings, const Architecture& architecture, LaunchDraft& draft)
      : settings_(settings), architecture_(architecture), draft_(draft) {}

  Status read() {
    for (const SizeKey& size : kSizes)
      GOODPUT_TRY_STATUS(draft_.state_integer(size.pointer, settings_.find({size.key, size.other_key})));
    GOODPUT_TRY_STATUS(sliding_window());
    GOODPUT_TRY_STATUS(attention());
    GOODPUT_TRY_STATUS(rest());
    return experts();
  }

 private:
  void is(std::string_view pointer, std::string json) {
    draft_.derive(pointer, std::move(json), fmt::format("the architecture {}", architecture_.type));
  }

  Status sliding_window() {
    const Setting* window = settings_.find("sliding_window");
    const Setting* use = settings_.find("use_sliding_window");
    const Setting* types = settings_.find("layer_types");
    settings_.skip("max_window_layers");
    if (types != nullptr) {
      const bool slides = std::ranges::find(types->texts, "sliding_attention") != types->texts.end();
      return slides ? draft_.approximate(*types, "sliding-window", "full attention") : Ok{};
    }
    const bool is_qwen = architecture_.type.starts_with("qwen");
    const bool is_used = is_qwen ? use != nullptr && settings_.is_on("use_sliding_window") : true;
    if (window == nullptr && architecture_.sliding_window > 0 && !settings_.has("sliding_window")) {
      Setting absent{.key = "sliding_window",
                     .shown = fmt::format("sliding_window {} by default", architecture_.sliding_window)};
      absent.where = {.file = settings_.file()};
      return draft_.approximate(absent, "sliding-window", "full attention");
    }
    if (window == nullptr || !is_used) return Ok{};
    return draft_.approximate(*window, "sliding-window", "full attention");
  }

  Status attention() {
    const auto heads = draft_.integer("/model/heads");
    if (architecture_.experts == Experts::kDeepSeek) return latent();
    const Setting* kv = settings_.find("num_key_value_heads");
    GOODPUT_TRY_STATUS(draft_.state_integer("/model/kv_heads", kv));
    if (kv == nullptr && architecture_.kv_heads > 0)
      draft_.assume("/model/kv_heads", std::to_string(architecture_.kv_heads), "transformers' default");
    else if (kv == nullptr && heads)
      draft_.assume("/model/kv_heads", std::to_string(*heads), "as many as heads");
    const Setting* head = settings_.find("head_dim");
    GOODPUT_TRY_STATUS(draft_.state_integer("/model/head_dim", head));
    if (head == nullptr && architecture_.head_dim > 0)
      draft_.assume("/model/head_dim", std::to_string(architecture_.head_dim), "transformers' default");
    if (architecture_.has_qk_norm) is("/model/qk_norm", "true");
    if (architecture_.has_sinks) is("/model/attention_sinks", "true");
    return Ok{};
  }

  Status latent() {
    constexpr SizeKey kLatent[] = {{"/model/latent/q_rank", "q_lora_rank", "1536"},
                                   {"/model/latent/kv_rank", "kv_lora_rank", "512"},
                                   {"/model/latent/nope_dim", "qk_nope_head_dim", "128"},
                                   {"/model/latent/rope_dim", "qk_rope_head_dim", "64"},
                                   {"/model/latent/value_dim", "v_head_dim", "128"}};
    for (const char* derived : {"num_key_value_heads", "head_dim", "qk_head_dim"}) settings_.skip(derived);
    for (const SizeKey& size : kLatent) {
      const bool is_null = settings_.has(size.key) && settings_.find(size.key) == nullptr;
      GOODPUT_TRY_STATUS(draft_.state_integer(size.pointer, settings_.find(size.key)));
      draft_.assume(size.pointer, is_null ? "0" : std::string(size.other_key), "transformers' default");
    }
    return Ok{};
  }

  Status rest() {
    if (architecture_.type != "gpt2") is("/model/learned_positions", "0");
    is("/model/gated_ffn", architecture_.is_gated ? "true" : "false");
    is("/model/biases", std::string(architecture_.biases));
    const Setting* bias = settings_.find("attention_bias");
    const Setting* mlp = settings_.find("mlp_bias");
    const bool has_bias =
        architecture_.can_have_attention_bias && bias != nullptr && settings_.is_on("attention_bias");
    const bool has_mlp_bias = architecture_.type == "llama" && mlp != nullptr && settings_.is_on("mlp_bias");
    if (has_bias || has_mlp_bias) {
      const std::string json = !has_mlp_bias ? R"(["qkv","attention_output"])"
                               : has_bias    ? R"(["qkv","attention_output","ffn"])"
                                             : R"(["ffn"])";
      draft_.set("/model/biases", json, origin_of(has_bias ? *bias : *mlp), Basis::kStated);
    }
    const Setting* tied = settings_.find("tie_word_embeddings");
    if (tied != nullptr) {
      GOODPUT_TRY(const bool is_tied, flag_of(*tied));
      GOODPUT_TRY_STATUS(draft_.state("/model/tied_head", is_tied ? "true" : "false", *tied));
    } else {
      draft_.assume("/model/tied_head", architecture_.is_tied ? "true" : "false", "transformers' default");
    }
    const Setting* positions = settings_.find({"n_positions", "n_ctx"});
    if (architecture_.type == "gpt2") {
      GOODPUT_TRY_STATUS(draft_.state_integer("/model/learned_positions", positions));
      draft_.assume("/model/learned_positions", "1024", "transformers' default");
      if (const auto hidden = draft_.integer("/model/hidden"); hidden && *hidden < 1'000'000'000)
        draft_.assume("/model/ffn", std::to_string(4 * *hidden), "transformers' default: 4 x n_embd");
    }
    if (const Setting* checkpointing = settings_.find("gradient_checkpointing");
        checkpointing != nullptr && settings_.is_on("gradient_checkpointing"))
      GOODPUT_TRY_STATUS(draft_.state("/parallel/recompute", json_text("full"), *checkpointing));
    draft_.title = settings_.text("_name_or_path");
    if (draft_.title.empty() || draft_.title.front() == '/' || draft_.title.front() == '.')
      draft_.title = architecture_.title;
    return Ok{};
  }

  Status experts() {
    if (architecture_.experts == Experts::kNone) return Ok{};
    GOODPUT_TRY_STATUS(draft_.state_integer(
        "/model/moe/experts", settings_.find({"num_local_experts", "n_routed_experts", "num_experts"})));
    GOODPUT_TRY_STATUS(draft_.state_integer("/model/moe/top_k",
                                            settings_.find({"num_experts_per_tok", "experts_per_token"})));
    if (architecture_.experts_count > 0) {
      draft_.assume("/model/moe/experts", std::to_string(architecture_.experts_count),
                    "transformers' default");
      draft_.assume("/model/moe/top_k", std::to_string(architecture_.top_k), "transformers' default");
    }
    const Setting* width = settings_.find("moe_intermediate_size");
    GOODPUT_TRY_STATUS(draft_.state_integer("/model/moe/expert_ffn", width));
    if (width == nullptr && draft_.has("/model/ffn"))
      draft_.assume("/model/moe/expert_ffn", draft_.find("/model/ffn")->json, "intermediate_size");
    if (architecture_.experts == Experts::kDeepSeek) return deepseek();
    if (architecture_.experts == Experts::kQwen2) {
      is("/model/moe/shared_gate", "true");
      GOODPUT_TRY_STATUS(shared_width(settings_.find("shared_expert_intermediate_size")));
    }
    if (architecture_.experts == Experts::kQwen2 || architecture_.experts == Experts::kQwen3)
      return sparse_layers();
    return Ok{};
  }

  Status shared_width(const Setting* width) {
    if (width == nullptr) return Ok{};
    GOODPUT_TRY(const std::int64_t shared, integer_of(*width));
    const std::int64_t one = draft_.integer_or("/model/moe/expert_ffn", 0);
    if (one < 1 || shared % one != 0 || shared < 0)
      return width->error(fmt::format(
          "must be a multiple of moe_intermediate_size ({}); other shared experts are not modeled", one));
    return draft_.state("/model/moe/shared_experts", std::to_string(shared / one), *width);
  }

  // Qwen: every decoder_sparse_step-th layer, counted from 1, except those listed.
  Status sparse_layers() {
    const Setting* step = settings_.find("decoder_sparse_step");
    const Setting* dense = settings_.find("mlp_only_layers");
    const auto layers = draft_.integer("/model/layers");
    if (step == nullptr && (dense == nullptr || dense->texts.empty())) return Ok{};
    GOODPUT_TRY(const std::int64_t every, step != nullptr ? integer_of(*step) : Result<std::int64_t>(1));
    const bool lists_dense = dense != nullptr && !dense->texts.empty();
    if (!layers || *layers > 10'000 || (every == 1 && !lists_dense)) return Ok{};
    if (every < 1) return step->error("must be at least 1");
    std::vector<std::int64_t> chosen;
    for (std::int64_t layer = 0; layer < *layers; ++layer) {
      const bool is_dense =
          dense != nullptr && std::ranges::find(dense->texts, std::to_string(layer)) != dense->texts.end();
      if ((layer + 1) % every == 0 && !is_dense) chosen.push_back(layer);
    }
    return draft_.state("/model/moe/layers", fmt::format("[{}]", fmt::join(chosen, ",")),
                        lists_dense ? *dense : *step);
  }

  Status deepseek() {
    GOODPUT_TRY_STATUS(draft_.state_integer("/model/moe/shared_experts", settings_.find("n_shared_experts")));
    GOODPUT_TRY_STATUS(
        draft_.state_integer("/model/moe/first_layer", settings_.find("first_k_dense_replace")));
    const Setting* step = settings_.find("moe_layer_freq");
    if (step != nullptr) {
      GOODPUT_TRY(const std::int64_t every, integer_of(*step));
      if (every != 1) GOODPUT_TRY_STATUS(draft_.state("/model/moe/layer_step", std::to_string(every), *step));
    }
    const Setting* groups = settings_.find("n_group");
    const Setting* top = settings_.find("topk_group");
    if (groups != nullptr && top != nullptr) {
      GOODPUT_TRY(const std::int64_t count, integer_of(*groups));
      if (count > 1) {
        GOODPUT_TRY_STATUS(draft_.state_integer("/model/moe/expert_groups", groups));
        GOODPUT_TRY_STATUS(draft_.state_integer("/model/moe/top_groups", top));
      }
    }
    return draft_.state_integer("/model/mtp_layers", settings_.find("num_nextn_predict_layers"));
  }

  Settings& settings_;
  const Architecture& architecture_;
  LaunchDraft& draft_;
};

bool is_hugging_face(const LaunchText& launch) {
  const bool is_ours = launch.has_key("parallel") || launch.has_key("plan") || launch.has_key("layers");
  return launch.is_json() && !is_ours && (launch.has_key("model_type") || launch.has_key("architectures"));
}

Status read_hugging_face(const LaunchText& launch, const LaunchOptions& /*options*/, LaunchDraft& draft) {
  GOODPUT_TRY(Settings settings, json_settings(launch.text, launch.file));
  const Setting* type = settings.find("model_type");
  if (type == nullptr) return Error{"has no model_type, which names the architecture", {.file = launch.file}};
  GOODPUT_TRY(const std::string name, text_of(*type));
  std::vector<std::string_view> known;
  for (const Architecture& architecture : kArchitectures) known.push_back(architecture.type);
  const auto at = index_of_name(known, "architecture", name);
  if (!at) return Error{at.error().what, type->where};
  GOODPUT_TRY_STATUS(ConfigReader(settings, kArchitectures[*at], draft).read());
  for (const Setting* unused : settings.unused()) {
    if (std::ranges::find(kOddKeys, unused->key) != std::end(kOddKeys) && !is_null(*unused))
      draft.warn(*unused, "is not modeled");
    else
      draft.ignore(*unused);
  }
  return Ok{};
}

}  // namespace

LaunchFormat launch_format_hugging_face() {
  return {.name = "hugging-face",
          .title = "a Hugging Face config",
          .summary = "config.json of a Hugging Face model: the model",
          .describes_model_only = true,
          .matches = is_hugging_face,
          .read = read_hugging_face};
}

}  // namespace goodput::launch
