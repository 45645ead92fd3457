// A launch script of Megatron-LM.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/launch/export_launch.h"
#include "models/launch/megatron_limits.h"

namespace goodput::launch {
namespace {

constexpr std::string_view kMegatron = "Megatron-LM";

// A bash array with an argument per line.
class ArgumentArray {
 public:
  explicit ArgumentArray(std::string_view name) : text_(fmt::format("{}=(\n", name)) {}

  void add(std::string_view name) { text_ += fmt::format("  --{}\n", name); }
  void add(std::string_view name, std::int64_t value) { text_ += fmt::format("  --{} {}\n", name, value); }
  void add(std::string_view name, std::string_view value) {
    text_ += fmt::format("  --{} {}\n", name, value);
  }
  void add_if(bool condition, std::string_view name) {
    if (condition) add(name);
  }
  [[nodiscard]] std::string text() const { return text_ + ")\n"; }

 private:
  std::string text_;
};

// "'([0]*3+[1]*58)'": which layers have experts.
std::string expert_layers(const ModelShape& model) {
  std::vector<std::string> runs;
  for (std::int32_t layer = 0; layer < model.layers;) {
    const bool has_experts = model.is_moe_layer(layer);
    std::int32_t end = layer;
    while (end < model.layers && model.is_moe_layer(end) == has_experts) ++end;
    runs.push_back(fmt::format("[{}]*{}", has_experts ? 1 : 0, end - layer));
    layer = end;
  }
  return fmt::format("'({})'", fmt::join(runs, "+"));
}

void add_attention(const ModelShape& model, ArgumentArray& arguments) {
  arguments.add("num-attention-heads", model.heads);
  if (model.latent) {
    const LatentAttention& latent = *model.latent;
    arguments.add("multi-latent-attention");
    if (latent.q_rank > 0) arguments.add("q-lora-rank", latent.q_rank);
    arguments.add("kv-lora-rank", latent.kv_rank);
    arguments.add("qk-head-dim", latent.nope_dim);
    arguments.add("qk-pos-emb-head-dim", latent.rope_dim);
    arguments.add("v-head-dim", latent.value_dim);
    arguments.add("qk-layernorm");  // the norms behind the down-projections
    return;
  }
  if (model.kv_heads != model.heads) {
    arguments.add("group-query-attention");
    arguments.add("num-query-groups", model.kv_heads);
  }
  arguments.add("kv-channels", model.head_dim);
  arguments.add_if(model.qk_norm, "qk-layernorm");
}

void add_experts(const ModelShape& model, ArgumentArray& arguments) {
  const MoeShape& moe = *model.moe;
  arguments.add("num-experts", moe.experts);
  arguments.add("moe-router-topk", moe.top_k);
  arguments.add("moe-ffn-hidden-size", moe.expert_ffn);
  if (!moe.layers.empty()) arguments.add("moe-layer-freq", expert_layers(model));
  if (moe.shared_experts > 0)
    arguments.add("moe-shared-expert-intermediate-size", std::int64_t{moe.shared_experts} * moe.expert_ffn);
  arguments.add_if(moe.shared_gate, "moe-shared-expert-gate");
  if (moe.expert_groups > 0) {
    arguments.add("moe-router-num-groups", moe.expert_groups);
    arguments.add("moe-router-group-topk", moe.top_groups);
  }
  if (model.biases.router) {
    arguments.add("moe-router-enable-expert-bias");
    arguments.add("moe-router-score-function", "sigmoid");  // expert biases need it
  }
}

std::string model_arguments(const TrainingPlan& plan) {
  const ModelShape& model = plan.model;
  ArgumentArray arguments("MODEL_ARGS");
  arguments.add("num-layers", model.layers);
  arguments.add("hidden-size", model.hidden);
  arguments.add("ffn-hidden-size", model.ffn == 0 && model.moe ? model.moe->expert_ffn : model.ffn);
  add_attention(model, arguments);
  arguments.add_if(model.gated_ffn, "swiglu");
  arguments.add("normalization", model.biases.norm ? "LayerNorm" : "RMSNorm");
  arguments.add_if(!model.biases.ffn, "disable-bias-linear");
  arguments.add_if(!model.biases.ffn && model.biases.qkv, "add-qkv-bias");
  const bool is_learned = model.learned_positions > 0;
  arguments.add("position-embedding-type", is_learned ? "learned_absolute" : "rope");
  arguments.add("max-position-embeddings",
                is_learned ? model.learned_positions : plan.parallel.sequence_length);
  arguments.add_if(!model.tied_head, "untie-embeddings-and-output-weights");
  arguments.add("vocab-size", model.vocab);
  arguments.add("make-vocab-size-divisible-by", plan.parallel.pad_vocab_to);
  if (model.mtp_layers > 0) arguments.add("mtp-num-layers", model.mtp_layers);
  if (model.moe) add_experts(model, arguments);
  return arguments.text();
}

// "t*3|"
std::string layout_part(std::int32_t layers) {
  return layers == 0 ? "|" : layers == 1 ? "t|" : fmt::format("t*{}|", layers);
}

// "'Et*2|(t*3|)*6,t*2|L'": the layers at each pipeline position; E and L are embedding and loss.
std::string layout_text(const TrainingPlan& plan) {
  const std::vector<std::int32_t>& split = plan.parallel.layers_per_stage;
  std::string text = "E" + layout_part(split.front());
  for (std::size_t begin = 1; begin + 1 < split.size();) {
    std::size_t end = begin;
    while (end + 1 < split.size() && split[end] == split[begin]) ++end;
    const std::string part = layout_part(split[begin]);
    text += end - begin > 1 ? fmt::format("({})*{},", part, end - begin) : part;
    begin = end;
  }
  text += layout_part(split.back());
  text.pop_back();
  return fmt::format("'{}{}L'", text, std::string(static_cast<std::size_t>(plan.model.mtp_layers), 'm'));
}

void add_pipeline(const TrainingPlan& plan, ArgumentArray& arguments) {
  const ParallelPlan& parallel = plan.parallel;
  if (parallel.pp == 1) return;
  if (!parallel.layers_per_stage.empty()) {
    arguments.add("pipeline-model-parallel-layout", layout_text(plan));
  } else if (parallel.vpp > 1) {
    arguments.add("num-virtual-stages-per-pipeline-rank", parallel.vpp);
  }
  arguments.add_if(parallel.vpp > 1 && !parallel.overlap_p2p, "no-overlap-p2p-communication");
}

void add_sharding(const ParallelPlan& parallel, ArgumentArray& arguments) {
  arguments.add_if(parallel.zero > 0, "use-distributed-optimizer");
  if (parallel.zero > 1) {
    arguments.add("use-megatron-fsdp");
    arguments.add("data-parallel-sharding-strategy",
                  parallel.zero == 2 ? "optim_grads" : "optim_grads_params");
    arguments.add("ckpt-format", "fsdp_dtensor");  // the only one that it has
  }
  if (parallel.sharding_instances() > 1)
    arguments.add("num-distributed-optimizer-instances", parallel.zero_instances);
  arguments.add_if(parallel.overlap_grad_reduce, "overlap-grad-reduce");
  arguments.add_if(parallel.overlap_param_gather, "overlap-param-gather");
}

std::string parallel_arguments(const TrainingPlan& plan) {
  const ParallelPlan& parallel = plan.parallel;
  ArgumentArray arguments("PARALLEL_ARGS");
  arguments.add("tensor-model-parallel-size", parallel.tp);
  arguments.add_if(parallel.sequence_parallel, "sequence-parallel");
  if (parallel.tp > 1) {
    arguments.add_if(parallel.slices_tp(), "tp-comm-overlap");
    arguments.add_if(!parallel.overlap_tp_reduce, "no-async-tensor-model-parallel-allreduce");
  }
  arguments.add("pipeline-model-parallel-size", parallel.pp);
  add_pipeline(plan, arguments);
  arguments.add("context-parallel-size", parallel.cp);
  if (parallel.cp > 1) arguments.add("cp-comm-type", parallel.overlap_cp ? "p2p" : "all_gather");
  if (plan.model.moe) {
    arguments.add("expert-model-parallel-size", parallel.ep);
    arguments.add("expert-tensor-parallel-size", parallel.expert_tp());
    const bool is_hierarchical = parallel.dispatcher == TokenDispatcher::kHierarchical;
    arguments.add("moe-token-dispatcher-type", is_hierarchical ? "flex" : "alltoall");
    arguments.add_if(is_hierarchical, "moe-enable-deepep");
    arguments.add("moe-grouped-gemm");
  }
  add_sharding(parallel, arguments);
  return arguments.text();
}

void add_precision(const ParallelPlan& parallel, ArgumentArray& arguments) {
  constexpr std::array<std::string_view, 5> kRecipes = {"", "delayed", "tensorwise", "blockwise", "mxfp8"};
  const bool is_bf16 = parallel.dtype == Dtype::kBf16 || parallel.has_fp8();
  arguments.add_if(is_bf16, "bf16");
  arguments.add_if(parallel.dtype == Dtype::kFp16, "fp16");
  if (parallel.has_fp8()) {
    arguments.add("fp8-format", "hybrid");
    arguments.add("fp8-recipe", kRecipes.at(static_cast<std::size_t>(parallel.fp8_recipe)));
  }
  arguments.add_if(is_bf16 && parallel.gradient_bytes == 2, "grad-reduce-in-bf16");
  arguments.add_if(!parallel.has_32_bits() && parallel.gradient_bytes == 4,
                   "accumulate-allreduce-grads-in-fp32");
}

void add_recomputation(const TrainingPlan& plan, ArgumentArray& arguments) {
  if (plan.parallel.recompute == Recompute::kFull) {
    arguments.add("recompute-granularity", "full");
    arguments.add("recompute-method", "uniform");
    arguments.add("recompute-num-layers", 1);
  } else if (plan.parallel.recompute == Recompute::kSelective) {
    arguments.add("recompute-granularity", "selective");
    arguments.add("recompute-modules", fmt::format("core_attn{}{}", plan.model.moe ? " moe_act" : "",
                                                   plan.model.latent ? " mla_up_proj" : ""));
  }
}

// Types of the master weight and both moments that take so many bytes together.
struct OptimizerTypes {
  std::int32_t bytes;
  std::string_view master, first_moment, second_moment;
};
constexpr OptimizerTypes kOptimizerTypes[] = {{12, "fp32", "fp32", "fp32"}, {10, "fp32", "fp32", "bf16"},
                                              {9, "fp32", "fp32", "fp8"},   {8, "fp32", "bf16", "bf16"},
                                              {7, "fp32", "bf16", "fp8"},   {6, "fp32", "fp8", "fp8"},
                                              {5, "fp16", "bf16", "fp8"},   {4, "fp16", "fp8", "fp8"}};

Status add_optimizer(const TrainingPlan& plan, ArgumentArray& arguments) {
  const ParallelPlan& parallel = plan.parallel;
  const bool is_usual = parallel.optimizer_bytes == (parallel.has_32_bits() ? 8 : 12);
  if (is_usual && !parallel.offload_optimizer) return Ok{};
  const auto* const types =
      std::ranges::find(kOptimizerTypes, parallel.optimizer_bytes, &OptimizerTypes::bytes);
  if (parallel.zero == 0) {
    return plan.error(
        "/parallel/optimizer_bytes",
        fmt::format("is {}, which Megatron-LM supports only with its distributed optimizer; set "
                    "zero to 1, or leave this key out",
                    parallel.optimizer_bytes));
  }
  if (types == std::end(kOptimizerTypes) || parallel.has_32_bits()) {
    return plan.error("/parallel/optimizer_bytes",
                      fmt::format("is {}, but the optimizer of Megatron-LM has 12 bytes per parameter, with "
                                  "16-bit dtypes also 4 to 10; leave this key out",
                                  parallel.optimizer_bytes));
  }
  arguments.add("use-precision-aware-optimizer");
  arguments.add("main-params-dtype", types->master);
  arguments.add("exp-avg-dtype", types->first_moment);
  arguments.add("exp-avg-sq-dtype", types->second_moment);
  if (parallel.offload_optimizer) {
    arguments.add("optimizer-cpu-offload");
    arguments.add("optimizer-offload-fraction", "1.0");
  }
  return Ok{};
}

Result<std::string> training_arguments(const TrainingPlan& plan) {
  const ParallelPlan& parallel = plan.parallel;
  ArgumentArray arguments("TRAIN_ARGS");
  arguments.add("micro-batch-size", parallel.micro_batch);
  arguments.add("global-batch-size", parallel.global_batch);
  arguments.add("seq-length", parallel.sequence_length);
  add_precision(parallel, arguments);
  add_recomputation(plan, arguments);
  GOODPUT_TRY_STATUS(add_optimizer(plan, arguments));
  if (!parallel.fused_attention) arguments.add("attention-backend", "unfused");
  arguments.add_if(!parallel.fused_accumulation, "no-gradient-accumulation-fusion");
  return arguments.text();
}

// The script stops if one of them is not set.
std::string required_variables(const TrainingPlan& plan, const LaunchNodes& nodes) {
  const auto required = [](std::string_view name, std::string_view what) {
    return fmt::format(": \"${{{}:?{}}}\"\n", name, what);
  };
  return required("MEGATRON_PATH", "set it to the folder of Megatron-LM") +
         required("DATA_ARGS",
                  fmt::format("set it to the arguments for data, tokenizer ({} tokens) and checkpoints",
                              plan.model.vocab)) +
         required("OPTIMIZER_ARGS", "set it to the arguments for the learning rate and the number of steps") +
         required("MASTER_ADDR", "set it to the host of the first node") +
         required("NODE_RANK", fmt::format("set it to the number of this node, 0 to {}", nodes.nodes - 1));
}

// Megatron-LM fails without it on GPUs before Blackwell, and with it if it shards parameters.
std::string environment(const ParallelPlan& parallel) {
  const bool is_needed = (parallel.tp > 1 || parallel.cp > 1) && parallel.zero < 2;
  return is_needed ? "export CUDA_DEVICE_MAX_CONNECTIONS=1\n" : "";
}

// Of torchrun.
std::string launch_arguments(const LaunchNodes& nodes) {
  ArgumentArray arguments("LAUNCH_ARGS");
  arguments.add("nproc_per_node", nodes.gpus_per_node);
  arguments.add("nnodes", nodes.nodes);
  arguments.add("node_rank", R"("$NODE_RANK")");
  arguments.add("master_addr", R"("$MASTER_ADDR")");
  arguments.add("master_port", 6000);
  return arguments.text();
}

Status check_megatron(const TrainingPlan& plan) {
  GOODPUT_TRY_STATUS(check_megatron_limits(plan, kMegatron));
  const ParallelPlan& parallel = plan.parallel;
  if (parallel.pp > 1 && parallel.vpp == 1 && parallel.overlap_p2p) {
    return plan.error("/parallel/overlap_p2p",
                      "is true, but Megatron-LM overlaps messages between stages only if vpp is above 1; set "
                      "it to false");
  }
  if (parallel.pp == 2 && parallel.vpp > 1 && !parallel.overlap_p2p) {
    return plan.error("/parallel/overlap_p2p",
                      "is false, but with pp 2 and vpp above 1, Megatron-LM always overlaps messages between "
                      "stages; set it to true");
  }
  return Ok{};
}

Result<std::string> write_megatron(const TrainingPlan& plan) {
  GOODPUT_TRY_STATUS(check_megatron(plan));
  GOODPUT_TRY(const LaunchNodes nodes, launch_nodes(plan));
  GOODPUT_TRY(const std::string training, training_arguments(plan));
  return fmt::format(R"(#!/usr/bin/env bash
# Megatron-LM: {0}. Written by goodput export plan.
set -euo pipefail

{1}{2}
{3}
{4}
{5}
{6}
# shellcheck disable=SC2086  # DATA_ARGS and OPTIMIZER_ARGS are lists of words
torchrun "${{LAUNCH_ARGS[@]}}" \
  "$MEGATRON_PATH/pretrain_gpt.py" \
  $DATA_ARGS \
  $OPTIMIZER_ARGS \
  "${{MODEL_ARGS[@]}}" \
  "${{PARALLEL_ARGS[@]}}" \
  "${{TRAIN_ARGS[@]}}"
)",
                     launch_title(plan), required_variables(plan, nodes), environment(plan.parallel),
                     launch_arguments(nodes), model_arguments(plan), parallel_arguments(plan), training);
}

}  // namespace

LaunchExport launch_export_megatron() {
  return {.name = "megatron",
          .title = kMegatron,
          .summary = "launch script of Megatron-LM",
          .file_name = "launch-megatron.sh",
          .to_do = "set MEGATRON_PATH, DATA_ARGS, OPTIMIZER_ARGS, MASTER_ADDR and NODE_RANK",
          .write = write_megatron};
}

}  // namespace goodput::launch
