#include "models/plan/parallel_plan.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "models/cost/stated_values.h"
#include "sim/base/json.h"

namespace goodput {
namespace {

constexpr std::int64_t kMostGpus = 10'000'000;  // of one dimension
constexpr std::int64_t kMostSequences = 1'000'000'000;
constexpr std::int64_t kMostTokens = 1'000'000'000;

// How the step is cut up, and in which numbers it is computed.
config::Fields layout_fields(ParallelPlan& plan) {
  using config::Need;
  return {
      {"dp", Need::kOptional, config::integer(plan.dp, 1, kMostGpus),
       "number of data-parallel replicas, among which expert-parallel groups are formed"},
      {"zero", Need::kOptional, config::integer(plan.zero, 0, 3),
       "what ZeRO shards. 0: nothing; 1: optimizer state; 2: also gradients; 3: also parameters"},
      {"zero_instances", Need::kOptional, config::integer(plan.zero_instances, 1, kMostGpus),
       "number of groups of consecutive replicas; ZeRO state is sharded only within a group",
       [&plan] { return plan.zero == 0 ? "zero is 0" : ""; }},
      {"pp", Need::kOptional, config::integer(plan.pp, 1, kMostGpus), "number of pipeline stages"},
      {"vpp", Need::kOptional, config::integer(plan.vpp, 1, 10'000), "number of model chunks per stage"},
      {"tp", Need::kOptional, config::integer(plan.tp, 1, kMostGpus),
       "tensor-parallel size: number of GPUs that share each layer"},
      {"sequence_parallel", Need::kOptional, config::flag(plan.sequence_parallel),
       "whether norms and dropouts are sharded over the tp GPUs"},
      {"cp", Need::kOptional, config::integer(plan.cp, 1, kMostGpus),
       "context-parallel size: number of GPUs that share each sequence"},
      {"ep", Need::kOptional, config::integer(plan.ep, 1, kMostGpus),
       "expert-parallel size; expert groups are formed from the dp x cp x tp ranks of a stage"},
      {"etp", Need::kOptional, stated::unless(plan.etp, 0, config::integer(plan.etp, 1, kMostGpus)),
       "expert tensor-parallel size: number of GPUs that share each expert; ep must divide dp x cp x tp / "
       "etp (default: tp; 1 if ep does not divide dp x cp and sequence_parallel is true)"},
      {"micro_batch", Need::kOptional, config::integer(plan.micro_batch, 1), "sequences per micro-batch"},
      {"global_batch", Need::kRequired, config::integer(plan.global_batch, 1, kMostSequences),
       "number of sequences per step"},
      {"sequence_length", Need::kRequired, config::integer(plan.sequence_length, 1, kMostTokens),
       "number of tokens per sequence"},
      {"recompute", Need::kOptional, config::choice(plan.recompute, kRecomputeNames),
       "how much of the forward pass is recomputed in the backward pass"},
      {"dtype", Need::kOptional, config::choice(plan.dtype, kDtypeNames), "matmul data type"},
      {"gradient_bytes", Need::kOptional, config::integer(plan.gradient_bytes, 1, 8),
       "bytes per gradient value when gradients are reduced"},
      {"fused_attention", Need::kOptional, config::flag(plan.fused_attention),
       "whether attention avoids writing the scores to memory (FlashAttention)"},
      {"fused_accumulation", Need::kOptional, config::flag(plan.fused_accumulation),
       "whether weight gradients are accumulated inside the matrix multiplication"},
      {"pad_vocab_to", Need::kOptional, config::integer(plan.pad_vocab_to, 0, kMostGpus),
       "vocabulary rows per GPU are padded to a multiple of this number; 0: no padding"},
  };
}

// What stacks usually set.
config::Fields software_fields(ParallelPlan& plan) {
  using config::Need;
  return {
      {"overlap_tp_reduce", Need::kOptional, config::flag(plan.overlap_tp_reduce),
       "whether tensor-parallel collectives run during matrix multiplications (see tp_overlap)"},
      {"overlap_grad_reduce", Need::kOptional, config::flag(plan.overlap_grad_reduce),
       "whether gradients are reduced during the backward passes"},
      {"overlap_param_gather", Need::kOptional, config::flag(plan.overlap_param_gather),
       "whether parameters are gathered during the forward passes if zero is 1 or more"},
      {"overlap_p2p", Need::kOptional, config::flag(plan.overlap_p2p),
       "whether a stage posts the receive for its next pass before its current pass ends"},
      {"tp_overlap", Need::kOptional, config::choice(plan.tp_overlap, kTpOverlapNames),
       "when tensor-parallel collectives run. bulk: during the weight-gradient multiplication of the same "
       "layer; sliced: in slices, during forward and backward multiplications",
       [&plan] { return plan.overlap_tp_reduce ? "" : "overlap_tp_reduce is false"; }},
      {"overlap_cp", Need::kOptional, config::flag(plan.overlap_cp),
       "whether cp uses ring attention, which exchanges keys and values during attention",
       [&plan] { return plan.cp == 1 ? "cp is 1" : ""; }},
      {"compiled", Need::kOptional, config::flag(plan.compiled),
       "whether element-wise operations are fused; false: one kernel each, as in eager PyTorch"},
      {"selective_recompute", Need::kOptional,
       config::choice(plan.selective_recompute, kSelectiveRecomputeNames),
       "selective recompute. cheap: as in Megatron-LM; every_second_matmul: as in TorchTitan",
       [&plan] { return plan.recompute == Recompute::kSelective ? "" : "recompute is not selective"; }},
      {"fp8_recipe", Need::kOptional, config::choice(plan.fp8_recipe, kFp8RecipeNames),
       "how tensors are cast to 8 bits; free: casts take no time",
       [&plan] { return plan.has_fp8() ? "" : "dtype is not fp8"; }},
      {"loss", Need::kOptional, config::choice(plan.loss, kLossKernelNames),
       "cross-entropy kernel. fused: Megatron-LM's; fp32: PyTorch's; chunked: fp32 by chunks"},
      {"reshard_after_forward", Need::kOptional, config::choice(plan.reshard_after_forward, kReshardNames),
       "whether a layer's parameters are freed after the layer's forward pass if zero is 3",
       [&plan] { return plan.zero == 3 ? "" : "zero is not 3"; }},
      {"dispatcher", Need::kOptional,
       stated::choice(plan.dispatcher, std::span<const std::string_view>(kTokenDispatcherNames)),
       "how tokens reach experts on other GPUs. all_to_all: one copy per token and expert; hierarchical: one "
       "copy per token and node, forwarded over NVLink (DeepEP, HybridEP) (default: all_to_all)",
       [&plan] { return plan.ep == 1 ? "ep is 1" : ""; }},
      {"dispatch_bytes", Need::kOptional,
       stated::unless(plan.dispatch_bytes, 0, config::integer(plan.dispatch_bytes, 1, 4)),
       "bytes per value that is sent to an expert in the forward pass (default: 1 with dtype fp8, 4 with "
       "tf32 and fp32, otherwise 2)",
       [&plan] { return plan.ep == 1 ? "ep is 1" : ""; }},
      {"expert_matmuls", Need::kOptional,
       stated::choice(plan.expert_matmuls, std::span<const std::string_view>(kExpertMatmulNames)),
       "matmuls of the experts of a GPU. batched: as if all experts had equally many tokens; grouped: with "
       "unequal numbers of tokens (default: batched)"},
      {"optimizer_bytes", Need::kOptional,
       stated::unless(plan.optimizer_bytes, 0, config::integer(plan.optimizer_bytes, 1, 64)),
       "bytes per parameter of the optimizer's master weight and moments (default 12; 8 with dtype tf32 or "
       "fp32)"},
      {"offload_optimizer", Need::kOptional, config::flag(plan.offload_optimizer),
       "whether the optimizer state is in host memory and updated by the CPU"},
  };
}

config::Fields pipeline_fields(ParallelPlan& plan) {
  using config::Need;
  return {
      {"schedule", Need::kOptional, config::text(plan.schedule),
       "pipeline schedule; see `goodput list schedules`"},
      {"layers_per_stage", Need::kOptional, config::integers(plan.layers_per_stage, 0, 10'000),
       "list of the number of layers at each pipeline position (default: an even split)"},
      {"within_node", Need::kOptional, config::object(plan.within_node),
       "settings that replace those of `parallel` if the plan's GPUs fit on one node"},
  };
}

}  // namespace

config::Fields config_fields(ParallelPlan& plan) {
  config::Fields fields = layout_fields(plan);
  for (config::Fields more : {software_fields(plan), pipeline_fields(plan)})
    std::ranges::move(more, std::back_inserter(fields));
  return fields;
}

config::Fields config_fields(WithinNode& settings) {
  using config::Need;
  return {
      {"recompute", Need::kRequired, config::choice(settings.recompute, kRecomputeNames),
       "same as in `parallel`"},
      {"pad_vocab_to", Need::kRequired, config::integer(settings.pad_vocab_to, 0, kMostGpus),
       "same as in `parallel`"},
      {"overlap_tp_reduce", Need::kRequired, config::flag(settings.overlap_tp_reduce),
       "same as in `parallel`"},
  };
}

std::int64_t replicas_together(const ParallelPlan& plan) {
  const std::int64_t of_replica = std::int64_t{plan.cp} * plan.tp;
  return std::lcm(of_replica, std::int64_t{plan.ep} * plan.expert_tp()) / of_replica;
}

ParallelPlan settled(ParallelPlan plan, std::int32_t gpus_per_node) {
  const auto settings = std::exchange(plan.within_node, std::nullopt);
  if (!settings || plan.gpus() > gpus_per_node) return plan;
  plan.recompute = settings->recompute;
  plan.pad_vocab_to = settings->pad_vocab_to;
  plan.overlap_tp_reduce = settings->overlap_tp_reduce;
  return plan;
}

std::int32_t instances_for(const ParallelPlan& plan, std::int64_t replicas, std::int64_t together) {
  if (plan.sharding_instances() == 1) return plan.zero_instances;
  const std::int64_t units = replicas / together;
  std::int64_t instances = std::clamp<std::int64_t>(replicas / (plan.dp / plan.zero_instances), 1,
                                                    std::max<std::int64_t>(units, 1));
  while (units % instances != 0) --instances;
  return static_cast<std::int32_t>(instances);
}

std::string text_key(ParallelPlan plan) {
  return config::write(config_fields(plan)).dump();
}

}  // namespace goodput
