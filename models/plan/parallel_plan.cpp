#include "models/plan/parallel_plan.h"

#include <algorithm>
#include <utility>

#include "models/cost/stated_values.h"
#include "sim/base/json.h"

namespace goodput {
namespace {

constexpr std::int64_t kMostGpus = 10'000'000;  // of one dimension
constexpr std::int64_t kMostSequences = 1'000'000'000;
constexpr std::int64_t kMostTokens = 1'000'000'000;

}  // namespace

config::Fields config_fields(ParallelPlan& plan) {
  using config::Need;
  return {
      {"dp", Need::kOptional, config::integer(plan.dp, 1, kMostGpus),
       "data-parallel replicas; expert-parallel groups are formed among them, so ep takes no additional "
       "GPUs"},
      {"zero", Need::kOptional, config::integer(plan.zero, 0, 3),
       "what is sharded over dp: 0 nothing, 1 optimizer state, 2 also reduced gradients, 3 also parameters"},
      {"zero_instances", Need::kOptional, config::integer(plan.zero_instances, 1, kMostGpus),
       "number of groups of consecutive replicas; zero shards within each group and sums gradients across "
       "groups",
       [&plan] { return plan.zero == 0 ? "zero is 0" : ""; }},
      {"pp", Need::kOptional, config::integer(plan.pp, 1, kMostGpus), "pipeline stages"},
      {"vpp", Need::kOptional, config::integer(plan.vpp, 1, 10'000), "model chunks per stage"},
      {"tp", Need::kOptional, config::integer(plan.tp, 1, kMostGpus), "tensor parallelism"},
      {"sequence_parallel", Need::kOptional, config::flag(plan.sequence_parallel),
       "norms and dropouts are sharded over tp"},
      {"cp", Need::kOptional, config::integer(plan.cp, 1, kMostGpus),
       "context parallelism: a sequence is split over cp GPUs"},
      {"ep", Need::kOptional, config::integer(plan.ep, 1, kMostGpus),
       "expert-parallel size; expert groups are formed from the dp x cp ranks"},
      {"micro_batch", Need::kOptional, config::integer(plan.micro_batch, 1), "sequences per micro-batch"},
      {"global_batch", Need::kRequired, config::integer(plan.global_batch, 1, kMostSequences),
       "sequences per step"},
      {"sequence_length", Need::kRequired, config::integer(plan.sequence_length, 1, kMostTokens),
       "tokens per sequence"},
      {"recompute", Need::kOptional, config::choice(plan.recompute, kRecomputeNames),
       "how much of the forward pass is recomputed in the backward pass"},
      {"dtype", Need::kOptional, config::choice(plan.dtype, kDtypeNames),
       "data type of matrix multiplications"},
      {"gradient_bytes", Need::kOptional, config::integer(plan.gradient_bytes, 1, 8),
       "bytes per gradient value when gradients are reduced"},
      {"fused_attention", Need::kOptional, config::flag(plan.fused_attention),
       "attention scores are never written to memory (FlashAttention)"},
      {"fused_accumulation", Need::kOptional, config::flag(plan.fused_accumulation),
       "weight gradients are accumulated inside the matrix multiplication"},
      {"pad_vocab_to", Need::kOptional, config::integer(plan.pad_vocab_to, 0, kMostGpus),
       "vocabulary rows per GPU are padded to a multiple of this; 0: no padding"},
      {"overlap_tp_reduce", Need::kOptional, config::flag(plan.overlap_tp_reduce),
       "tensor-parallel collectives run during matrix multiplications (see tp_overlap)"},
      {"overlap_grad_reduce", Need::kOptional, config::flag(plan.overlap_grad_reduce),
       "gradients are reduced during the backward passes"},
      {"overlap_param_gather", Need::kOptional, config::flag(plan.overlap_param_gather),
       "with zero: parameters are gathered during the forward passes"},
      {"overlap_p2p", Need::kOptional, config::flag(plan.overlap_p2p),
       "receives are posted before the preceding pass ends"},
      {"tp_overlap", Need::kOptional, config::choice(plan.tp_overlap, kTpOverlapNames),
       "bulk: during the weight-gradient multiplication of the same layer; sliced: forward and backward, in "
       "slices",
       [&plan] { return plan.overlap_tp_reduce ? "" : "overlap_tp_reduce is false"; }},
      {"overlap_cp", Need::kOptional, config::flag(plan.overlap_cp),
       "ring attention: keys and values are exchanged during attention",
       [&plan] { return plan.cp == 1 ? "cp is 1" : ""; }},
      {"compiled", Need::kOptional, config::flag(plan.compiled),
       "element-wise operations are fused; false: each is a separate kernel, as in eager PyTorch"},
      {"selective_recompute", Need::kOptional,
       config::choice(plan.selective_recompute, kSelectiveRecomputeNames),
       "what is recomputed if recompute is selective: cheap as in Megatron-LM, every_second_matmul as in "
       "TorchTitan",
       [&plan] { return plan.recompute == Recompute::kSelective ? "" : "recompute is not selective"; }},
      {"fp8_recipe", Need::kOptional, config::choice(plan.fp8_recipe, kFp8RecipeNames),
       "how tensors are cast to 8 bits; free: casts take no time",
       [&plan] { return plan.has_fp8() ? "" : "dtype is not fp8"; }},
      {"loss", Need::kOptional, config::choice(plan.loss, kLossKernelNames),
       "cross-entropy kernel: fused as in Megatron-LM, fp32 as in PyTorch, chunked: fp32 for one chunk of "
       "tokens at a time"},
      {"reshard_after_forward", Need::kOptional, config::choice(plan.reshard_after_forward, kReshardNames),
       "with zero 3: whether a layer's parameters are freed after its forward pass",
       [&plan] { return plan.zero == 3 ? "" : "zero is not 3"; }},
      {"optimizer_bytes", Need::kOptional,
       stated::unless(plan.optimizer_bytes, 0, config::integer(plan.optimizer_bytes, 1, 64)),
       "bytes per parameter for the master weight and moments (default 12; 8 with dtype tf32 or fp32)"},
      {"offload_optimizer", Need::kOptional, config::flag(plan.offload_optimizer),
       "optimizer state is in host memory, and the CPU updates it"},
      {"schedule", Need::kOptional, config::text(plan.schedule),
       "pipeline schedule: `goodput list schedules`"},
      {"layers_per_stage", Need::kOptional, config::integers(plan.layers_per_stage, 0, 10'000),
       "number of layers at each pipeline position (default: even split)"},
      {"within_node", Need::kOptional, config::object(plan.within_node),
       "settings that replace the above if all GPUs fit on one node"},
  };
}

config::Fields config_fields(WithinNode& settings) {
  using config::Need;
  return {
      {"recompute", Need::kRequired, config::choice(settings.recompute, kRecomputeNames), "as above"},
      {"pad_vocab_to", Need::kRequired, config::integer(settings.pad_vocab_to, 0, kMostGpus), "as above"},
      {"overlap_tp_reduce", Need::kRequired, config::flag(settings.overlap_tp_reduce), "as above"},
  };
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
