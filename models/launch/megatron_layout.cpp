#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "models/launch/list_expression.h"
#include "models/launch/megatron_model.h"
#include "models/launch/software_keys.h"
#include "sim/base/text.h"

namespace goodput::launch {
namespace {

struct LayoutKey {
  std::string_view key;
  std::string_view pointer;
  std::string_view otherwise;  // the default; empty: it must be given
};

constexpr LayoutKey kLayoutKeys[] = {
    {"tensor_model_parallel_size", "/parallel/tp", "1"},
    {"pipeline_model_parallel_size", "/parallel/pp", "1"},
    {"context_parallel_size", "/parallel/cp", "1"},
    {"ds_sequence_parallel_size", "/parallel/cp", "1"},
    {"moe_expert_parallel_size", "/parallel/ep", "1"},
    {"expert_model_parallel_size", "/parallel/ep", "1"},
    {"expert_tensor_parallel_size", "/parallel/etp", ""},
    {"micro_batch_size", "/parallel/micro_batch", ""},
    {"global_batch_size", "/parallel/global_batch", ""},
    {"seq_length", "/parallel/sequence_length", ""},
    {"encoder_seq_length", "/parallel/sequence_length", ""},
    {"make_vocab_size_divisible_by", "/parallel/pad_vocab_to", "128"},
};

class LayoutReader {
 public:
  LayoutReader(Settings& settings, const MegatronDialect& dialect, LaunchDraft& draft)
      : settings_(settings),
        draft_(draft),
        dialect_(dialect),
        default_(fmt::format("{}'s default", dialect.name)) {}

  Status read() {
    for (const LayoutKey& key : kLayoutKeys) {
      GOODPUT_TRY_STATUS(draft_.state_integer(key.pointer, settings_.find(key.key)));
      if (!key.otherwise.empty()) assume(key.pointer, std::string(key.otherwise));
    }
    GOODPUT_TRY_STATUS(refuse_unlike());
    GOODPUT_TRY_STATUS(parallel_experts());
    GOODPUT_TRY_STATUS(virtual_stages());
    GOODPUT_TRY_STATUS(uneven_stages());
    GOODPUT_TRY_STATUS(precision());
    GOODPUT_TRY_STATUS(sharding());
    GOODPUT_TRY_STATUS(recomputation());
    GOODPUT_TRY_STATUS(overlap());
    return kernels();
  }

 private:
  void assume(std::string_view pointer, std::string json) {
    if (dialect_.has_defaults) draft_.assume(pointer, std::move(json), default_);
  }
  // A flag's value as that of a key; absent: the default.
  Status flag(std::string_view key, std::string_view pointer, bool otherwise, bool inverted = false) {
    const Setting* setting = settings_.find(key);
    if (setting == nullptr) {
      assume(pointer, otherwise ? "true" : "false");
      return Ok{};
    }
    GOODPUT_TRY(const bool is_on, flag_of(*setting));
    return draft_.state(pointer, is_on != inverted ? "true" : "false", *setting);
  }
  [[nodiscard]] std::int64_t size(std::string_view pointer) const { return draft_.integer_or(pointer, 1); }

  Status parallel_experts() {
    // Megatron switches it off if there is nothing to share.
    if (size("/parallel/tp") > 1)
      GOODPUT_TRY_STATUS(flag("sequence_parallel", "/parallel/sequence_parallel", false));
    else
      settings_.skip("sequence_parallel");
    if (!draft_.has("/model/moe/experts")) return Ok{};
    assume("/parallel/etp", std::to_string(size("/parallel/tp")));
    return expert_kernels();
  }

  Status expert_kernels() {
    settings_.skip("moe_grouped_gemm");  // without it, experts run one by one: unequal sizes too
    assume("/parallel/expert_matmuls", json_text("grouped"));
    assume("/parallel/dispatch_bytes", "2");
    const Setting* type = settings_.find("moe_token_dispatcher_type");
    const bool has_deep_ep = settings_.is_on("moe_enable_deepep");
    const Setting* backend = settings_.find("moe_flex_dispatcher_backend");
    if (has_deep_ep || backend != nullptr) {
      const Setting& by = *settings_.find({"moe_enable_deepep", "moe_flex_dispatcher_backend"});
      return draft_.state("/parallel/dispatcher", json_text("hierarchical"), by);
    }
    std::string name = dialect_.is_deepspeed ? "alltoall" : "allgather";
    if (type != nullptr) {
      GOODPUT_TRY(name, text_of(*type));
    }
    if (name == "flex") return draft_.state("/parallel/dispatcher", json_text("hierarchical"), *type);
    if (name == "alltoall" && type != nullptr)
      return draft_.state("/parallel/dispatcher", json_text("all_to_all"), *type);
    if (name.starts_with("allgather") && dialect_.has_defaults) {
      const std::string what = "dispatching tokens by all-gather is not modeled: treated as all-to-all";
      if (size("/parallel/ep") > 1) type != nullptr ? draft_.warn(*type, what) : draft_.warn(what);
    }
    assume("/parallel/dispatcher", json_text("all_to_all"));
    return Ok{};
  }

  // Model chunks per stage. The settings give their number, or the number of layers in each.
  Status virtual_stages() {
    const Setting* chunks =
        settings_.find({"virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"});
    const Setting* layers_each = settings_.find("num_layers_per_virtual_pipeline_stage");
    const std::int64_t pp = size("/parallel/pp");
    if (chunks != nullptr) {
      GOODPUT_TRY_STATUS(draft_.state_integer("/parallel/vpp", chunks));
    } else if (layers_each != nullptr) {
      GOODPUT_TRY(const std::int64_t each, integer_of(*layers_each));
      const auto layers = draft_.integer("/model/layers");
      if (layers && (each < 1 || pp < 1 || *layers % pp != 0 || *layers / pp % each != 0)) {
        return layers_each->error(
            fmt::format("must divide the layers of a stage: {} layers / pp {} = {:.4g}", *layers, pp,
                        static_cast<double>(*layers) / static_cast<double>(std::max<std::int64_t>(pp, 1))));
      }
      if (layers)
        GOODPUT_TRY_STATUS(draft_.state("/parallel/vpp", std::to_string(*layers / pp / each), *layers_each));
    }
    const Setting* by = chunks != nullptr ? chunks : layers_each;
    if (by != nullptr && size("/parallel/vpp") > 1 && pp == 1)
      return by->error("needs more than one pipeline stage, but pp is 1");
    assume("/parallel/vpp", "1");
    return Ok{};
  }

  // Where the stages differ in their numbers of layers.
  Status uneven_stages() {
    const std::int64_t pp = size("/parallel/pp");
    const std::int64_t vpp = size("/parallel/vpp");
    const auto layers = draft_.integer("/model/layers");
    if (const Setting* layout = settings_.find("pipeline_model_parallel_layout")) {
      GOODPUT_TRY_STATUS(explicit_layout(*layout, pp));
    } else if (layers && pp > 0 && vpp > 0 && pp * vpp <= 10'000) {
      GOODPUT_TRY_STATUS(first_and_last(*layers, pp, vpp));
    }
    draft_.derive("/parallel/schedule", json_text(size("/parallel/vpp") > 1 ? "interleaved" : "1f1b"),
                  size("/parallel/vpp") > 1 ? "vpp is above 1" : "vpp is 1");
    return Ok{};
  }

  Status explicit_layout(const Setting& layout, std::int64_t pp) {
    std::string text;
    for (const std::string& part : layout.texts) text += part;
    const auto layers = layers_of_layout(text);
    if (!layers) return layout.error("must be a layout such as \"Et*3|(tt|)*29,m|L\"");
    const auto parts = static_cast<std::int64_t>(layers->size());
    if (pp < 1 || parts % pp != 0)
      return layout.error(fmt::format("has {} parts, which pp {} must divide", parts, pp));
    GOODPUT_TRY_STATUS(draft_.state("/parallel/vpp", std::to_string(parts / pp), layout));
    return draft_.state("/parallel/layers_per_stage", fmt::format("[{}]", fmt::join(*layers, ",")), layout);
  }

  Status first_and_last(std::int64_t layers, std::int64_t pp, std::int64_t vpp) {
    if (dialect_.is_deepspeed) return deepspeed_stages(layers, pp);
    const Setting* first =
        settings_.find({"decoder_first_pipeline_num_layers", "num_layers_in_first_pipeline_stage"});
    const Setting* last =
        settings_.find({"decoder_last_pipeline_num_layers", "num_layers_in_last_pipeline_stage"});
    const Setting* embedding = settings_.find("account_for_embedding_in_pipeline_split");
    const Setting* loss = settings_.find("account_for_loss_in_pipeline_split");
    const bool counts_embedding =
        embedding != nullptr && settings_.is_on("account_for_embedding_in_pipeline_split");
    const bool counts_loss = loss != nullptr && settings_.is_on("account_for_loss_in_pipeline_split");
    std::vector<std::int64_t> stages(static_cast<std::size_t>(pp), 0);
    const Setting* by = nullptr;
    if (first != nullptr || last != nullptr) {
      by = first != nullptr ? first : last;
      GOODPUT_TRY(const std::int64_t in_first,
                  first != nullptr ? integer_of(*first) : Result<std::int64_t>(0));
      GOODPUT_TRY(const std::int64_t in_last, last != nullptr ? integer_of(*last) : Result<std::int64_t>(0));
      const std::int64_t between = pp - (first != nullptr) - (last != nullptr);
      const std::int64_t rest = layers - in_first - in_last;
      const bool fits = between == 0 ? rest == 0 : between > 0 && rest >= 0 && rest % between == 0;
      if (!fits)
        return by->error(
            fmt::format("leaves {} layers for {} other stages, which must have equally many", rest, between));
      std::ranges::fill(stages, between > 0 ? rest / between : 0);
      if (first != nullptr) stages.front() = in_first;
      if (last != nullptr) stages.back() = in_last;
    } else if (counts_embedding || counts_loss) {
      by = counts_embedding ? embedding : loss;
      const std::int64_t counted = layers + counts_embedding + counts_loss;
      if (counted % (pp * vpp) != 0)
        return by->error(fmt::format(
            "{} layers with the embedding and the loss cannot be divided into {} parts", counted, pp * vpp));
      std::ranges::fill(stages, counted / pp);
    } else {
      return Ok{};
    }
    std::vector<std::int64_t> positions;
    for (std::int64_t chunk = 0; chunk < vpp; ++chunk) {
      for (const std::int64_t in_stage : stages) {
        if (in_stage % vpp != 0)
          return by->error(
              fmt::format("a stage of {} layers cannot be cut into vpp {} chunks", in_stage, vpp));
        positions.push_back(in_stage / vpp);
      }
    }
    if (counts_embedding && first == nullptr) --positions.front();
    if (counts_loss && last == nullptr) --positions.back();
    return draft_.state("/parallel/layers_per_stage", fmt::format("[{}]", fmt::join(positions, ",")), *by);
  }

  // DeepSpeed deals out layers evenly, the first stages having one more; "type:transformer|embedding" counts
  // the embedding and the output head as layers.
  Status deepspeed_stages(std::int64_t layers, std::int64_t pp) {
    const Setting* method = settings_.find("pp_partition_method");
    const bool counts =
        method != nullptr && settings_.text("pp_partition_method").find("embedding") != std::string::npos;
    if (pp == 1 || (layers % pp == 0 && !counts)) return Ok{};
    const std::int64_t counted = layers + (counts ? 2 : 0);
    std::vector<std::int64_t> stages;
    for (std::int64_t stage = 0; stage < pp; ++stage)
      stages.push_back(counted / pp + (stage < counted % pp ? 1 : 0) -
                       (counts && (stage == 0 || stage == pp - 1) ? 1 : 0));
    if (std::ranges::any_of(stages, [](std::int64_t in_stage) { return in_stage < 0; })) return Ok{};
    draft_.derive("/parallel/layers_per_stage", fmt::format("[{}]", fmt::join(stages, ",")),
                  method != nullptr ? origin_of(*method) : "DeepSpeed's even split");
    return Ok{};
  }

  Status precision() {
    std::string dtype = "fp32";
    const Setting* by = nullptr;
    if (settings_.is_on("bf16") && settings_.is_on("fp16"))
      return settings_.find("fp16")->error("contradicts bf16; keep one of them");
    for (const char* key : {"bf16", "fp16"}) {
      if (!settings_.is_on(key)) continue;
      dtype = key;
      by = settings_.find(key);
    }
    std::string bytes = dtype == "fp16" || (dtype == "bf16" && dialect_.is_deepspeed) ? "2" : "4";
    const Setting* reduce = settings_.find({"grad_reduce_in_bf16", "accumulate_allreduce_grads_in_fp32"});
    if (settings_.is_on("accumulate_allreduce_grads_in_fp32")) bytes = "4";
    if (settings_.is_on("grad_reduce_in_bf16")) bytes = "2";
    if (const Setting* sent = settings_.find("megatron_fsdp_grad_comm_dtype"); sent != nullptr) {
      reduce = sent;
      bytes = settings_.text("megatron_fsdp_grad_comm_dtype").find("16") != std::string::npos ? "2" : "4";
    }
    if (reduce != nullptr)
      GOODPUT_TRY_STATUS(draft_.state("/parallel/gradient_bytes", bytes, *reduce));
    else
      assume("/parallel/gradient_bytes", bytes);
    if (const Setting* fp4 = settings_.find({"fp4_format", "fp4"}))
      GOODPUT_TRY_STATUS(draft_.approximate(*fp4, "fp4", "fp8"));
    const Setting* fp8 = nullptr;
    for (const char* key : {"fp8_format", "fp8_hybrid", "fp8_e4m3", "fp8", "fp4_format", "fp4"}) {
      const Setting* setting = settings_.find(key);
      const bool is_off =
          setting != nullptr && setting->texts.size() == 1 && equals_lower("false", setting->texts[0]);
      if (setting != nullptr && !is_off && fp8 == nullptr) fp8 = setting;
    }
    // NeMo's fp8_hybrid only chooses the format.
    if (fp8 != nullptr && fp8->key == "fp8_hybrid" && settings_.has("fp8") && !settings_.is_on("fp8"))
      fp8 = nullptr;
    if (fp8 != nullptr) {
      GOODPUT_TRY_STATUS(draft_.state("/parallel/dtype", json_text("fp8"), *fp8));
      return fp8_recipe();
    }
    if (by != nullptr) return draft_.state("/parallel/dtype", json_text(dtype), *by);
    if (dialect_.has_defaults && !draft_.has("/parallel/dtype"))
      draft_.warn(fmt::format("no precision is given: {} then trains in 32 bits", dialect_.name));
    assume("/parallel/dtype", json_text(dtype));
    return Ok{};
  }

  Status fp8_recipe() {
    const Setting* recipe = settings_.find("fp8_recipe");
    if (recipe == nullptr) {
      assume("/parallel/fp8_recipe", json_text("delayed"));
      return Ok{};
    }
    GOODPUT_TRY(const std::string name, text_of(*recipe));
    const std::string_view ours = fp8_recipe_named(name);
    if (ours.empty()) return recipe->error("must be delayed, tensorwise, blockwise or mxfp8");
    return draft_.state("/parallel/fp8_recipe", json_text(ours), *recipe);
  }

  Status sharding() {
    const Setting* fsdp = settings_.find({"use_megatron_fsdp", "use_custom_fsdp"});
    if (const Setting* torch = settings_.find("use_torch_fsdp2");
        torch != nullptr && settings_.is_on("use_torch_fsdp2")) {
      GOODPUT_TRY_STATUS(draft_.state("/parallel/zero", "3", *torch));
    } else if (fsdp != nullptr && flag_of(*fsdp) && *flag_of(*fsdp)) {
      const std::string strategy = settings_.text("data_parallel_sharding_strategy", "optim_grads_params");
      const std::string_view zero = strategy == "optim"                ? "1"
                                    : strategy == "optim_grads"        ? "2"
                                    : strategy == "optim_grads_params" ? "3"
                                                                       : "0";
      GOODPUT_TRY_STATUS(draft_.state("/parallel/zero", std::string(zero), *fsdp));
    } else if (const Setting* optimizer = settings_.find("use_distributed_optimizer")) {
      GOODPUT_TRY(const bool is_on, flag_of(*optimizer));
      GOODPUT_TRY_STATUS(draft_.state("/parallel/zero", is_on ? "1" : "0", *optimizer));
    }
    GOODPUT_TRY_STATUS(draft_.state_integer("/parallel/zero", settings_.find("zero_stage")));
    assume("/parallel/zero", "0");
    // DeepSpeed's BF16_Optimizer, which pipelines use, shards its state.
    if (dialect_.is_deepspeed && settings_.is_on("bf16") && size("/parallel/pp") > 1 &&
        draft_.integer_or("/parallel/zero", 0) == 0)
      draft_.set("/parallel/zero", "1", "DeepSpeed's optimizer for bf16 shards its state", Basis::kStated);
    GOODPUT_TRY_STATUS(draft_.state_integer("/parallel/zero_instances",
                                            settings_.find("num_distributed_optimizer_instances")));
    return optimizer_state();
  }

  // Bytes of the master weight and both moments.
  Status optimizer_state() {
    const Setting* offload = settings_.find({"optimizer_cpu_offload", "cpu_optimizer"});
    if (offload != nullptr) {
      GOODPUT_TRY(const bool is_on, flag_of(*offload));
      GOODPUT_TRY_STATUS(draft_.state("/parallel/offload_optimizer", is_on ? "true" : "false", *offload));
      if (const Setting* fraction = settings_.find("optimizer_offload_fraction")) {
        GOODPUT_TRY(const double share, number_of(*fraction));
        if (is_on && share < 1)
          draft_.warn(*fraction, "only offloading the whole optimizer is modeled: treated as 1.0");
      }
    }
    if (const Setting* name = settings_.find("optimizer"); name != nullptr && !name->texts.empty()) {
      const bool is_adam = name->texts[0].find("adam") != std::string::npos;
      if (!is_adam)
        draft_.warn(*name, "only Adam is modeled: its state of 12 bytes per parameter is assumed");
    }
    if (!settings_.is_on("use_precision_aware_optimizer")) return Ok{};
    const Setting* by = settings_.find("use_precision_aware_optimizer");
    std::int64_t bytes = 0;
    for (const char* key : {"main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype"}) {
      const std::string type = settings_.text(key, "fp32");
      const bool is_bf16 =
          type == "fp16" || type == "bf16" || type == "torch.bfloat16" || type == "torch.float16";
      bytes += type == "fp32" || type == "torch.float32" ? 4 : is_bf16 ? 2 : 1;
    }
    return draft_.state("/parallel/optimizer_bytes", std::to_string(bytes), *by);
  }

  Status recomputation() {
    const Setting* selective = settings_.find("recompute_activations");
    const Setting* granularity = settings_.find("recompute_granularity");
    const Setting* old = settings_.find(
        {"checkpoint_activations", "deepspeed_activation_checkpointing", "activations_checkpoint_method"});
    const Setting* modules = settings_.find("recompute_modules");
    std::string name;
    const Setting* by = nullptr;
    if (granularity != nullptr) {
      by = granularity;
      GOODPUT_TRY(name, text_of(*granularity));
      if (name != "full" && name != "selective") return granularity->error("must be full or selective");
    } else if (selective != nullptr && settings_.is_on("recompute_activations")) {
      by = selective;
      name = "selective";
    } else if (old != nullptr &&
               (old->key == "activations_checkpoint_method" || (flag_of(*old) && *flag_of(*old)))) {
      by = old;
      name = "full";
    }
    if (by == nullptr) {
      assume("/parallel/recompute", json_text("none"));
    } else {
      GOODPUT_TRY_STATUS(draft_.state("/parallel/recompute", json_text(name), *by));
    }
    if (modules != nullptr && name == "selective") {
      for (const std::string& module : modules->texts) {
        if (module != "core_attn" && module != "moe_act" && module != "mla_up_proj" && module != "mlp_act")
          draft_.warn(*modules,
                      fmt::format("recomputing {} is not modeled: it costs more time and less memory",
                                  in_quotes(module)));
      }
    }
    return partial_recomputation(name);
  }

  Status partial_recomputation(const std::string& name) {
    const Setting* method = settings_.find({"recompute_method", "checkpoint_method"});
    const Setting* count = settings_.find({"recompute_num_layers", "checkpoint_num_layers"});
    if (name != "full" || method == nullptr || count == nullptr) return Ok{};
    GOODPUT_TRY(const std::int64_t layers, integer_of(*count));
    const std::int64_t parts = size("/parallel/pp") * size("/parallel/vpp");
    const std::int64_t in_part = draft_.integer_or("/model/layers", 0) / std::max<std::int64_t>(parts, 1);
    if (settings_.text("recompute_method", settings_.text("checkpoint_method")) == "block") {
      if (layers < in_part)
        draft_.warn(*count, fmt::format("recomputing {} of {} layers is not modeled: treated as all of them",
                                        layers, in_part));
    } else if (layers > 1) {
      draft_.warn(
          *count,
          fmt::format("keeping the input of only one layer in {} is not modeled: treated as every layer",
                      layers));
    }
    return Ok{};
  }

  Status overlap() {
    GOODPUT_TRY_STATUS(flag("overlap_grad_reduce", "/parallel/overlap_grad_reduce", false));
    GOODPUT_TRY_STATUS(flag("overlap_param_gather", "/parallel/overlap_param_gather", false));
    const bool is_interleaved = size("/parallel/vpp") > 1;
    const Setting* separate = settings_.find("no_overlap_p2p_communication");
    const Setting* overlapped = settings_.find({"overlap_p2p_comm", "overlap_p2p_communication"});
    if (separate != nullptr)
      GOODPUT_TRY_STATUS(flag("no_overlap_p2p_communication", "/parallel/overlap_p2p", is_interleaved, true));
    else if (overlapped != nullptr)
      GOODPUT_TRY_STATUS(flag(overlapped->key, "/parallel/overlap_p2p", false));
    else
      assume("/parallel/overlap_p2p", is_interleaved ? "true" : "false");
    GOODPUT_TRY_STATUS(tensor_overlap());
    if (size("/parallel/cp") == 1) return Ok{};
    const Setting* type = settings_.find("cp_comm_type");
    const std::string name = settings_.text("cp_comm_type", dialect_.is_deepspeed ? "a2a" : "p2p");
    if (name.starts_with("a2a") && type != nullptr)
      draft_.warn(*type,
                  "exchanging heads instead of keys and values is not modeled: treated as an all-gather");
    if (type != nullptr) return draft_.state("/parallel/overlap_cp", name == "p2p" ? "true" : "false", *type);
    assume("/parallel/overlap_cp", name == "p2p" ? "true" : "false");
    return Ok{};
  }

  Status tensor_overlap() {
    if (size("/parallel/tp") == 1) {
      for (const char* key :
           {"tp_comm_overlap", "ub_tp_comm_overlap", "no_async_tensor_model_parallel_allreduce"})
        settings_.skip(key);
      return Ok{};
    }
    const Setting* sliced = settings_.find({"tp_comm_overlap", "ub_tp_comm_overlap"});
    if (sliced != nullptr && flag_of(*sliced) && *flag_of(*sliced)) {
      GOODPUT_TRY_STATUS(draft_.state("/parallel/overlap_tp_reduce", "true", *sliced));
      return draft_.state("/parallel/tp_overlap", json_text("sliced"), *sliced);
    }
    // Each linear layer reduces its input's gradient while it computes its weight's.
    GOODPUT_TRY_STATUS(
        flag("no_async_tensor_model_parallel_allreduce", "/parallel/overlap_tp_reduce", true, true));
    assume("/parallel/tp_overlap", json_text("bulk"));
    return Ok{};
  }

  // What no plan comes near.
  Status refuse_unlike() {
    if (const Setting* window = settings_.find({"window_size", "sliding_window"}); window != nullptr) {
      const bool is_whole =
          window->texts.size() == 1 && (window->texts[0] == "-1" || window->texts[0] == "-1,-1");
      if (!is_whole) GOODPUT_TRY_STATUS(draft_.approximate(*window, "sliding-window", "full attention"));
    }
    for (const char* key : {"hybrid_layer_pattern", "hybrid_override_pattern", "is_hybrid_model",
                            "hybrid_attention_ratio", "heterogeneous_layers_config_path"}) {
      const Setting* hybrid = settings_.find(key);
      if (hybrid != nullptr && !(flag_of(*hybrid) && !*flag_of(*hybrid)))
        return hybrid->error("layers other than attention and FFN are not modeled");
    }
    return Ok{};
  }

  Status kernels() {
    GOODPUT_TRY_STATUS(flag("no_gradient_accumulation_fusion", "/parallel/fused_accumulation", true, true));
    const Setting* flash = settings_.find({"use_flash_attn", "use_flash_attn_v2", "use_flash_attn_triton"});
    const Setting* backend = settings_.find("attention_backend");
    const Setting* implementation = settings_.find("transformer_impl");
    if (backend != nullptr) {
      GOODPUT_TRY(const std::string name, text_of(*backend));
      const bool is_fused =
          name.find("unfused") == std::string::npos && name.find("local") == std::string::npos;
      return draft_.state("/parallel/fused_attention", is_fused ? "true" : "false", *backend);
    }
    if (flash != nullptr && flag_of(*flash))
      return draft_.state("/parallel/fused_attention", *flag_of(*flash) ? "true" : "false", *flash);
    if (implementation != nullptr && !implementation->texts.empty() && implementation->texts[0] == "local")
      return draft_.state("/parallel/fused_attention", "false", *implementation);
    assume("/parallel/fused_attention", dialect_.is_deepspeed ? "false" : "true");
    return Ok{};
  }

  Settings& settings_;
  LaunchDraft& draft_;
  const MegatronDialect& dialect_;
  std::string default_;
};

}  // namespace

std::string_view fp8_recipe_named(std::string_view name) {
  if (name == "delayed") return "delayed";
  if (name == "tensorwise" || name == "current" || name == "rowwise") return "current";
  if (name == "blockwise" || name == "block") return "block";
  if (name == "mxfp8" || name == "mx") return "mx";
  return "";
}

Status read_megatron_layout(Settings& settings, const MegatronDialect& dialect, LaunchDraft& draft) {
  return LayoutReader(settings, dialect, draft).read();
}

}  // namespace goodput::launch
