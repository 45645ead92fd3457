// NeMo's YAML (Hydra) for Megatron models, and Megatron-Bridge's, whose files override a recipe.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "models/launch/launch_format.h"
#include "models/launch/megatron_arguments.h"
#include "models/launch/megatron_model.h"
#include "models/launch/structured_text.h"
#include "sim/base/text.h"

namespace goodput::launch {
namespace {

// What Megatron-LM calls a key that is called otherwise here. `inverted`: false there means true here.
struct RenamedKey {
  std::string_view theirs;
  std::string_view ours;
  bool inverted = false;
};

constexpr RenamedKey kRenamed[] = {
    {"model.encoder_seq_length", "seq_length"},
    {"dataset.sequence_length", "seq_length"},
    {"dataset.seq_length", "seq_length"},
    {"train.micro_batch_size", "micro_batch_size"},
    {"train.global_batch_size", "global_batch_size"},
    {"model.num_moe_experts", "num_experts"},
    {"model.gated_linear_unit", "swiglu"},
    {"model.bias", "disable_bias_linear", true},
    {"model.add_bias_linear", "disable_bias_linear", true},
    {"model.qkv_bias", "add_qkv_bias"},
    {"model.share_embeddings_and_output_weights", "untie_embeddings_and_output_weights", true},
    {"model.activations_checkpoint_granularity", "recompute_granularity"},
    {"model.activations_checkpoint_method", "recompute_method"},
    {"model.activations_checkpoint_num_layers", "recompute_num_layers"},
    {"model.expert_model_parallel_size", "expert_model_parallel_size"},
    {"model.moe_shared_expert_overlap", "moe_shared_expert_overlap"},
    {"model.ub_tp_comm_overlap", "tp_comm_overlap"},
    {"model.async_tensor_model_parallel_allreduce", "no_async_tensor_model_parallel_allreduce", true},
    {"comm_overlap.tp_comm_overlap", "tp_comm_overlap"},
    {"model.gradient_accumulation_fusion", "no_gradient_accumulation_fusion", true},
    {"model.overlap_p2p_comm", "overlap_p2p_comm"},
    {"ddp.use_distributed_optimizer", "use_distributed_optimizer"},
    {"optimizer.use_distributed_optimizer", "use_distributed_optimizer"},
    {"ddp.overlap_grad_reduce", "overlap_grad_reduce"},
    {"ddp.overlap_param_gather", "overlap_param_gather"},
    {"comm_overlap.overlap_grad_reduce", "overlap_grad_reduce"},
    {"comm_overlap.overlap_param_gather", "overlap_param_gather"},
    {"ddp.grad_reduce_in_fp32", "grad_reduce_in_bf16", true},
    {"mixed_precision.grad_reduce_in_fp32", "grad_reduce_in_bf16", true},
    {"ddp.num_distributed_optimizer_instances", "num_distributed_optimizer_instances"},
    {"ddp.data_parallel_sharding_strategy", "data_parallel_sharding_strategy"},
    {"ddp.use_megatron_fsdp", "use_megatron_fsdp"},
    {"dist.use_megatron_fsdp", "use_megatron_fsdp"},
    {"model.tokenizer.type", "tokenizer_type"},
    {"model.optim.overlap_grad_sync", "overlap_grad_reduce"},
    {"model.optim.overlap_param_sync", "overlap_param_gather"},
    {"model.pipeline_model_parallel_layout", "pipeline_model_parallel_layout"},
};

constexpr int kDeepestReference = 5;
constexpr std::size_t kLongestValue = 1000;

std::string resolved(const Settings& settings, const std::string& key, std::string text, int depth);

// What "${...}" holds: a key from the root, one from the same mapping (".key"), or "multiply:A,B".
std::optional<std::string> interpolated(const Settings& settings, const std::string& key,
                                        std::string_view inside, int depth) {
  constexpr std::pair<std::string_view, char> kOperators[] = {
      {"multiply:", '*'}, {"divide:", '/'}, {"int_div:", '/'}, {"add:", '+'}};
  for (const auto& [name, op] : kOperators) {
    if (!inside.starts_with(name)) continue;
    const std::string_view rest = inside.substr(name.size());
    std::size_t comma = std::string_view::npos;
    int open = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      open += rest[i] == '{' ? 1 : rest[i] == '}' ? -1 : 0;
      if (rest[i] == ',' && open == 0) comma = i;
    }
    if (comma == std::string_view::npos) return std::nullopt;
    std::string right = resolved(settings, key, std::string(rest.substr(comma + 1)), depth + 1);
    right.erase(0, right.find_first_not_of(' '));
    const auto a = parse_integer(resolved(settings, key, std::string(rest.substr(0, comma)), depth + 1));
    const auto b = parse_integer(right);
    std::int64_t result = 0;
    if (!a || !b || (op == '/' && (*b == 0 || *b == -1))) return std::nullopt;
    if (op == '*' ? __builtin_mul_overflow(*a, *b, &result)
                  : op == '+' && __builtin_add_overflow(*a, *b, &result))
      return std::nullopt;
    return std::to_string(op == '/' ? *a / *b : result);
  }
  std::string target(inside);
  if (target.starts_with('.')) {
    std::string above = key;
    while (target.starts_with('.')) {
      target.erase(0, 1);
      above.erase(above.find('.') == std::string::npos ? 0 : above.rfind('.'));
    }
    target = above.empty() ? target : fmt::format("{}.{}", above, target);
  }
  const auto found = std::ranges::find(settings.all(), target, &Setting::key);
  if (found == settings.all().end() || found->texts.size() != 1) return std::nullopt;
  return resolved(settings, target, found->texts.front(), depth + 1);
}

// Replaces references such as ${.hidden_size} by their values, as Hydra does. Keeps references that it does
// not understand.
std::string resolved(const Settings& settings, const std::string& key, std::string text, int depth) {
  for (std::size_t begin = text.find("${");
       begin != std::string::npos && depth < kDeepestReference && text.size() < kLongestValue;
       begin = text.find("${", begin + 1)) {
    std::size_t end = begin + 1;
    int open = 0;
    for (; end < text.size(); ++end) {
      open += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
      if (open == 0) break;
    }
    if (end >= text.size()) break;
    if (const auto value =
            interpolated(settings, key, std::string_view(text).substr(begin + 2, end - begin - 2), depth))
      text.replace(begin, end + 1 - begin, *value);
  }
  return text;
}

Setting flag_setting(const Setting& by, std::string key, bool value) {
  return {.key = std::move(key),
          .shown = by.shown,
          .texts = {value ? "true" : "false"},
          .is_list = false,
          .where = by.where};
}

// bf16, bf16-mixed, 16, 32, bf16_mixed, bf16_with_fp8_delayed_scaling_mixed, ...
void add_precision(const Setting& by, Settings& settings) {
  if (by.texts.empty()) return;
  const std::string& name = by.texts.front();
  const bool is_known = name.find("16") != std::string::npos || name.find("32") != std::string::npos ||
                        name.find("fp8") != std::string::npos || name.find("fp4") != std::string::npos;
  if (!is_known) {
    Setting odd = by;
    odd.key = "precision";
    settings.add(odd);
  }
  if (name.find("bf16") != std::string::npos)
    settings.add(flag_setting(by, "bf16", true));
  else if (name.starts_with("16") || name.find("fp16") != std::string::npos)
    settings.add(flag_setting(by, "fp16", true));
  if (name.find("fp8") == std::string::npos && name.find("mxfp8") == std::string::npos &&
      name.find("fp4") == std::string::npos)
    return;
  Setting fp8 = by;
  fp8.key = name.find("fp4") != std::string::npos ? "fp4_format" : "fp8_format";
  fp8.texts = {"hybrid"};
  settings.add(fp8);
  Setting recipe = by;
  recipe.key = "fp8_recipe";
  recipe.texts = {name.find("mxfp8") != std::string::npos        ? "mxfp8"
                  : name.find("current") != std::string::npos    ? "tensorwise"
                  : name.find("subchannel") != std::string::npos ? "blockwise"
                                                                 : "delayed"};
  settings.add(recipe);
}

// Which of NeMo's implementations trains; plans assume Megatron-Core.
constexpr std::string_view kImplementations[] = {"model.mcore_gpt", "model.megatron_amp_O2",
                                                 "model.transformer_engine"};

// A section whose keys are Megatron-Core's.
bool changes_plan(std::string_view section) {
  static constexpr std::string_view kSections[] = {"model",           "train",        "optimizer", "ddp",
                                                   "mixed_precision", "comm_overlap", "dist"};
  return std::ranges::find(kSections, section) != std::end(kSections);
}

// Under Megatron-LM's names. Keys of sections that do not change a plan are left out.
Settings as_megatron(const Settings& yaml) {
  Settings settings(yaml.file());
  for (Setting setting : yaml.all()) {
    for (std::string& text : setting.texts) text = resolved(yaml, setting.key, text, 0);
    if (std::ranges::find(kImplementations, setting.key) != std::end(kImplementations)) continue;
    const auto* const renamed = std::ranges::find(kRenamed, setting.key, &RenamedKey::theirs);
    if (setting.key == "trainer.precision" || setting.key == "mixed_precision" ||
        setting.key == "model.precision") {
      add_precision(setting, settings);
    } else if (setting.key == "model.activation" || setting.key == "model.activation_func") {
      const bool is_gated = !setting.texts.empty() && (setting.texts[0].find("swiglu") != std::string::npos ||
                                                       setting.texts[0].find("geglu") != std::string::npos);
      if (setting.key == "model.activation") settings.add(flag_setting(setting, "swiglu", is_gated));
    } else if (setting.key == "model.optim.name") {
      const bool is_sharded = !setting.texts.empty() && (setting.texts[0] == "distributed_fused_adam" ||
                                                         setting.texts[0] == "mcore_distributed_optim");
      settings.add(flag_setting(setting, "use_distributed_optimizer", is_sharded));
    } else if (setting.key == "model.optim.grad_sync_dtype") {
      const bool is_16_bit = !setting.texts.empty() && setting.texts[0].find("16") != std::string::npos;
      settings.add(flag_setting(
          setting, is_16_bit ? "grad_reduce_in_bf16" : "accumulate_allreduce_grads_in_fp32", true));
    } else if (renamed != std::end(kRenamed)) {
      setting.key = renamed->ours;
      const Result<bool> flag = flag_of(setting);
      if (renamed->inverted && flag && !is_null(setting)) setting.texts = {*flag ? "false" : "true"};
      settings.add(std::move(setting));
    } else if (const std::size_t dot = setting.key.find('.');
               dot != std::string::npos && changes_plan(setting.key.substr(0, dot))) {
      // Of model.optim and the like, the key with its section.
      setting.key.erase(0, dot + 1);
      if (!settings.has(setting.key)) settings.add(std::move(setting));
    } else {
      settings.add(std::move(setting));
    }
  }
  return settings;
}

// trainer.num_nodes x trainer.devices
Status state_gpus(Settings& yaml, LaunchDraft& draft) {
  const Setting* nodes = yaml.find("trainer.num_nodes");
  const Setting* devices = yaml.find("trainer.devices");
  if (nodes == nullptr || devices == nullptr ||
      (draft.has("/gpus") && draft.find("/gpus")->basis == Basis::kOption))
    return Ok{};
  GOODPUT_TRY(const std::int64_t count, integer_of(*nodes));
  GOODPUT_TRY(const std::int64_t each, integer_of(*devices));
  std::int64_t gpus = 0;
  if (__builtin_mul_overflow(count, each, &gpus)) return nodes->error("is too large");
  Setting by = *nodes;
  by.shown = fmt::format("{} x {}", nodes->shown, devices->shown);
  return draft.state("/gpus", std::to_string(gpus), by);
}

// Ignores sections without effect on a step. The other keys are Megatron-Core's.
void explain_unused_keys(const Settings& settings, LaunchDraft& draft) {
  static constexpr std::string_view kIgnored[] = {"name",
                                                  "defaults",
                                                  "restore_from_path",
                                                  "cluster",
                                                  "checkpoint",
                                                  "ckpt",
                                                  "logger",
                                                  "logging",
                                                  "dataset",
                                                  "data",
                                                  "tokenizer",
                                                  "scheduler",
                                                  "rng",
                                                  "profiling",
                                                  "exp_manager",
                                                  "run",
                                                  "hydra",
                                                  "trainer",
                                                  "optim",
                                                  "peft",
                                                  "rerun_state_machine",
                                                  "validation",
                                                  "straggler",
                                                  "nvrx_straggler",
                                                  "ft",
                                                  "inprocess_restart",
                                                  "tensor_inspect",
                                                  "target",
                                                  "_target_"};
  Settings rest(settings.file());
  for (const Setting* unused : settings.unused()) {
    const std::string_view section = std::string_view(unused->key).substr(0, unused->key.find('.'));
    if (std::ranges::find(kIgnored, section) != std::end(kIgnored) || section.starts_with('_'))
      draft.ignore(*unused);
    else
      rest.add(*unused);
  }
  explain_unused(rest, draft);
}

Status read_yaml(const LaunchText& launch, const MegatronDialect& dialect, LaunchDraft& draft) {
  GOODPUT_TRY(Settings yaml, yaml_settings(launch.text, launch.file));
  GOODPUT_TRY_STATUS(state_gpus(yaml, draft));
  Settings settings = as_megatron(yaml);
  if (const Setting* vocab = settings.find("override_vocab_size"); vocab != nullptr)
    GOODPUT_TRY_STATUS(draft.state_integer("/model/vocab", vocab));
  GOODPUT_TRY_STATUS(read_megatron_model(settings, dialect, draft));
  GOODPUT_TRY_STATUS(read_megatron_layout(settings, dialect, draft));
  explain_unused_keys(settings, draft);
  return Ok{};
}

bool is_yaml_with(const LaunchText& launch, std::string_view key) {
  return !launch.is_json() && launch.has_key(key);
}

bool is_bridge(const LaunchText& launch) {
  const bool has_bridge_section = is_yaml_with(launch, "train") || is_yaml_with(launch, "mixed_precision") ||
                                  is_yaml_with(launch, "ddp") || is_yaml_with(launch, "comm_overlap");
  return has_bridge_section && !launch.has_key("trainer");
}

// A file with a _target_ states a whole configuration; all others override a recipe.
Status read_bridge(const LaunchText& launch, const LaunchOptions& options, LaunchDraft& draft) {
  const bool is_whole = launch.has_key("_target_") && launch.has_key("num_layers");
  if (!options.has_recipe && !is_whole) {
    Error error{fmt::format("overrides a recipe of Megatron-Bridge without naming it; give {} NAME", kOption),
                {.file = launch.file}};
    return std::move(error).of_option("recipe");
  }
  const MegatronDialect dialect{.name = "Megatron-Bridge",
                                .has_default_ffn = is_whole,
                                .is_deepspeed = false,
                                .has_defaults = is_whole};
  GOODPUT_TRY_STATUS(read_yaml(launch, dialect, draft));
  draft.assume("/stack", json_text("megatron-bridge"), "the software that the file is for");
  return Ok{};
}

bool is_nemo(const LaunchText& launch) {
  return is_yaml_with(launch, "model") &&
         (launch.has_key("trainer") || launch.has_key("tensor_model_parallel_size"));
}

Status read_nemo(const LaunchText& launch, const LaunchOptions& /*options*/, LaunchDraft& draft) {
  const MegatronDialect dialect{
      .name = "NeMo", .has_default_ffn = false, .is_deepspeed = false, .has_defaults = true};
  GOODPUT_TRY_STATUS(read_yaml(launch, dialect, draft));
  draft.assume("/stack", json_text("nemo"), "the software that the file is for");
  return Ok{};
}

}  // namespace

LaunchFormat launch_format_megatron_bridge() {
  return {.name = "megatron-bridge",
          .title = "a Megatron-Bridge config",
          .summary = "YAML of Megatron-Bridge: changes to a recipe",
          .describes_model_only = false,
          .overrides_recipe = true,
          .matches = is_bridge,
          .read = read_bridge};
}

LaunchFormat launch_format_nemo() {
  return {.name = "nemo",
          .title = "a NeMo config",
          .summary = "YAML of NeMo: model, layout, batch",
          .describes_model_only = false,
          .matches = is_nemo,
          .read = read_nemo};
}

}  // namespace goodput::launch
