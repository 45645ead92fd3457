// A config of NeMo 1 (Hydra) for its pretraining of GPT models.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "models/launch/export_launch.h"
#include "models/launch/megatron_limits.h"

namespace goodput::launch {
namespace {

constexpr std::string_view kNemo = "NeMo";

// A mapping of YAML, with a key per line.
class YamlMapping {
 public:
  YamlMapping(std::string_view name, int indent) : indent_(static_cast<std::size_t>(indent) + 2, ' ') {
    text_ = fmt::format("{}{}:\n", std::string(static_cast<std::size_t>(indent), ' '), name);
  }

  void set(std::string_view key, std::string_view value) {
    text_ += fmt::format("{}{}: {}\n", indent_, key, value);
  }
  void set(std::string_view key, std::int64_t value) { set(key, std::to_string(value)); }
  void set_flag(std::string_view key, bool value) { set(key, value ? "true" : "false"); }
  void append(const YamlMapping& inner) { text_ += inner.text_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string indent_;
  std::string text_;
};

void set_experts(const TrainingPlan& plan, YamlMapping& yaml) {
  const MoeShape& moe = *plan.model.moe;
  yaml.set("num_moe_experts", moe.experts);
  yaml.set("moe_router_topk", moe.top_k);
  yaml.set("moe_ffn_hidden_size", moe.expert_ffn);
  if (!moe.layers.empty()) {
    std::vector<int> pattern;
    for (std::int32_t layer = 0; layer < plan.model.layers; ++layer)
      pattern.push_back(plan.model.is_moe_layer(layer) ? 1 : 0);
    yaml.set("moe_layer_freq", fmt::format("[{}]", fmt::join(pattern, ", ")));
  }
  if (moe.shared_experts > 0)
    yaml.set("moe_shared_expert_intermediate_size", std::int64_t{moe.shared_experts} * moe.expert_ffn);
  if (moe.shared_gate) yaml.set_flag("moe_shared_expert_gate", true);
  if (moe.expert_groups > 0) {
    yaml.set("moe_router_num_groups", moe.expert_groups);
    yaml.set("moe_router_group_topk", moe.top_groups);
  }
  if (plan.model.biases.router) {
    yaml.set_flag("moe_router_enable_expert_bias", true);
    yaml.set("moe_router_score_function", "sigmoid");  // expert biases need it
  }
  const bool is_hierarchical = plan.parallel.dispatcher == TokenDispatcher::kHierarchical;
  yaml.set("expert_model_parallel_size", plan.parallel.ep);
  yaml.set("expert_tensor_parallel_size", plan.parallel.expert_tp());
  yaml.set("moe_token_dispatcher_type", is_hierarchical ? "flex" : "alltoall");
  if (is_hierarchical) yaml.set_flag("moe_enable_deepep", true);
  yaml.set_flag("moe_grouped_gemm", true);
}

void set_model(const TrainingPlan& plan, YamlMapping& yaml) {
  const ModelShape& model = plan.model;
  const bool is_learned = model.learned_positions > 0;
  yaml.set_flag("mcore_gpt", true);
  yaml.set("num_layers", model.layers);
  yaml.set("hidden_size", model.hidden);
  yaml.set("ffn_hidden_size", model.ffn == 0 && model.moe ? model.moe->expert_ffn : model.ffn);
  yaml.set("num_attention_heads", model.heads);
  yaml.set("num_query_groups", model.kv_heads);
  yaml.set("kv_channels", model.head_dim);
  if (model.qk_norm) yaml.set_flag("qk_layernorm", true);
  yaml.set("activation", model.gated_ffn ? "fast-swiglu" : "gelu");
  yaml.set("normalization", model.biases.norm ? "layernorm" : "rmsnorm");
  yaml.set_flag("bias", model.biases.ffn);
  if (!model.biases.ffn && model.biases.qkv) yaml.set_flag("qkv_bias", true);
  yaml.set("position_embedding_type", is_learned ? "learned_absolute" : "rope");
  yaml.set("max_position_embeddings", is_learned ? model.learned_positions : plan.parallel.sequence_length);
  yaml.set_flag("share_embeddings_and_output_weights", model.tied_head);
  yaml.set("override_vocab_size", model.vocab);
  yaml.set("make_vocab_size_divisible_by", plan.parallel.pad_vocab_to);
  if (model.moe) set_experts(plan, yaml);
}

bool splits_so(const TrainingPlan& plan, bool counts_embedding, bool counts_loss) {
  const std::vector<std::int32_t>& split = plan.parallel.layers_per_stage;
  const std::int32_t counted = plan.model.layers + (counts_embedding ? 1 : 0) + (counts_loss ? 1 : 0);
  std::vector<std::int32_t> dealt(split.size(), counted / static_cast<std::int32_t>(split.size()));
  if (counts_embedding) --dealt.front();
  if (counts_loss) --dealt.back();
  return split == dealt;
}

// Two ways to split layers unevenly: the embedding or the loss counts as a layer, or the first and the last
// stage have numbers of their own.
Status set_split(const TrainingPlan& plan, YamlMapping& yaml) {
  const std::vector<std::int32_t>& split = plan.parallel.layers_per_stage;
  if (split.empty()) return Ok{};
  for (const auto& [embedding, loss] : {std::pair{true, false}, {false, true}, {true, true}}) {
    if (!splits_so(plan, embedding, loss)) continue;
    if (embedding) yaml.set_flag("account_for_embedding_in_pipeline_split", true);
    if (loss) yaml.set_flag("account_for_loss_in_pipeline_split", true);
    return Ok{};
  }
  const auto pp = static_cast<std::size_t>(plan.parallel.pp);
  for (std::size_t position = 0; position < split.size(); ++position) {
    const std::size_t stage = position % pp;
    const bool is_outer = stage == 0 || stage + 1 == pp;
    if (split[position] == split[is_outer ? stage : 1]) continue;
    return plan.error("/parallel/layers_per_stage",
                      "is a split that NeMo cannot express: all stages but the first and the last must have "
                      "equally many layers, in all chunks; change it, or export to another format");
  }
  yaml.set("num_layers_in_first_pipeline_stage", std::int64_t{split.front()} * plan.parallel.vpp);
  yaml.set("num_layers_in_last_pipeline_stage", std::int64_t{split[pp - 1]} * plan.parallel.vpp);
  return Ok{};
}

Status set_pipeline(const TrainingPlan& plan, YamlMapping& yaml) {
  const ParallelPlan& parallel = plan.parallel;
  yaml.set("pipeline_model_parallel_size", parallel.pp);
  if (parallel.pp == 1) return Ok{};
  if (parallel.vpp > 1) yaml.set("virtual_pipeline_model_parallel_size", parallel.vpp);
  yaml.set_flag("overlap_p2p_comm", parallel.overlap_p2p);
  return set_split(plan, yaml);
}

Status set_layout(const TrainingPlan& plan, YamlMapping& yaml) {
  const ParallelPlan& parallel = plan.parallel;
  yaml.set("micro_batch_size", parallel.micro_batch);
  yaml.set("global_batch_size", parallel.global_batch);
  yaml.set("encoder_seq_length", parallel.sequence_length);
  yaml.set("tensor_model_parallel_size", parallel.tp);
  yaml.set_flag("sequence_parallel", parallel.sequence_parallel);
  if (parallel.tp > 1) {
    yaml.set_flag("ub_tp_comm_overlap", parallel.slices_tp());
    yaml.set_flag("async_tensor_model_parallel_allreduce", parallel.overlap_tp_reduce);
  }
  GOODPUT_TRY_STATUS(set_pipeline(plan, yaml));
  yaml.set("context_parallel_size", parallel.cp);
  if (parallel.cp > 1) yaml.set("cp_comm_type", parallel.overlap_cp ? "p2p" : "all_gather");
  return Ok{};
}

void set_kernels(const ParallelPlan& parallel, YamlMapping& yaml) {
  constexpr std::array<std::string_view, 5> kRecipes = {"", "delayed", "tensorwise", "blockwise", "mxfp8"};
  yaml.set_flag("megatron_amp_O2", !parallel.has_32_bits());
  if (parallel.has_fp8()) {
    yaml.set_flag("transformer_engine", true);
    yaml.set_flag("fp8", true);
    yaml.set_flag("fp8_hybrid", true);
    yaml.set("fp8_recipe", kRecipes.at(static_cast<std::size_t>(parallel.fp8_recipe)));
  }
  yaml.set_flag("gradient_accumulation_fusion", parallel.fused_accumulation);
  if (parallel.recompute == Recompute::kNone) return;
  const bool is_full = parallel.recompute == Recompute::kFull;
  yaml.set("activations_checkpoint_granularity", is_full ? "full" : "selective");
  if (!is_full) return;
  yaml.set("activations_checkpoint_method", "uniform");
  yaml.set("activations_checkpoint_num_layers", 1);
}

YamlMapping optimizer(const ParallelPlan& parallel) {
  YamlMapping yaml("optim", 2);
  yaml.set("name", parallel.zero > 0 ? "mcore_distributed_optim" : "fused_adam");
  yaml.set("lr", "???");
  if (!parallel.has_32_bits()) yaml.set("grad_sync_dtype", parallel.gradient_bytes == 2 ? "bf16" : "fp32");
  yaml.set_flag("overlap_grad_sync", parallel.overlap_grad_reduce);
  if (parallel.zero > 0) yaml.set_flag("overlap_param_sync", parallel.overlap_param_gather);
  return yaml;
}

Result<std::string> write_nemo(const TrainingPlan& plan) {
  GOODPUT_TRY_STATUS(check_megatron_limits(plan, kNemo));
  if (plan.model.latent) {
    return plan.error("/model/latent",
                      "is set, but NeMo's configs do not describe multi-head latent attention; export to "
                      "another format");
  }
  const ParallelPlan& parallel = plan.parallel;
  GOODPUT_TRY(const LaunchNodes launch, launch_nodes(plan));
  YamlMapping trainer("trainer", 0);
  trainer.set("num_nodes", launch.nodes);
  trainer.set("devices", launch.gpus_per_node);
  trainer.set("precision", parallel.has_32_bits() ? "32" : parallel.dtype == Dtype::kFp16 ? "16" : "bf16");
  trainer.set("max_steps", "???");
  YamlMapping model("model", 0);
  set_model(plan, model);
  GOODPUT_TRY_STATUS(set_layout(plan, model));
  set_kernels(parallel, model);
  model.append(optimizer(parallel));
  YamlMapping tokenizer("tokenizer", 2);
  tokenizer.set("library", "???");
  model.append(tokenizer);
  YamlMapping data("data", 2);
  data.set("data_prefix", "???");
  model.append(data);
  return fmt::format(
      "# NeMo: {}. Written by goodput export plan.\n"
      "# Replace each ???: the number of steps, the learning rate, the tokenizer ({} tokens) and the data.\n"
      "{}\n{}",
      launch_title(plan), plan.model.vocab, trainer.text(), model.text());
}

}  // namespace

LaunchExport launch_export_nemo() {
  return {.name = "nemo",
          .title = kNemo,
          .summary = "YAML of NeMo 1 for GPT models",
          .file_name = "launch-nemo.yaml",
          .to_do = "replace each ???",
          .write = write_nemo};
}

}  // namespace goodput::launch
