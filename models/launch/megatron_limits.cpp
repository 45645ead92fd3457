#include "models/launch/megatron_limits.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace goodput::launch {
namespace {

struct Limit {
  bool is_exceeded;
  std::string_view pointer;
  std::string what;
};

bool has_mixed_biases(const BiasedParts& biases) {
  return biases.ffn != biases.attention_output || (biases.ffn && !biases.qkv);
}

}  // namespace

Status check_megatron_limits(const TrainingPlan& plan, std::string_view title) {
  const ModelShape& model = plan.model;
  const ParallelPlan& parallel = plan.parallel;
  const bool has_positions = model.learned_positions > 0;
  const Limit limits[] = {
      {has_mixed_biases(model.biases), "/model/biases",
       fmt::format("{} has biases in all linear layers, in none, or only in the query, key and value "
                   "projections; export to another format",
                   title)},
      {has_positions && model.learned_positions < parallel.sequence_length, "/model/learned_positions",
       fmt::format("is {}, but {} needs at least as many positions as sequence_length ({})",
                   model.learned_positions, title, parallel.sequence_length)},
      {parallel.cp > 1 && parallel.sequence_length % (std::int64_t{2} * parallel.cp) != 0,
       "/parallel/sequence_length",
       fmt::format("must be a multiple of 2 x cp ({}) for {}, not {}", std::int64_t{2} * parallel.cp, title,
                   parallel.sequence_length)},
      {parallel.has_fp8() && parallel.fp8_recipe == Fp8Recipe::kFree, "/parallel/fp8_recipe",
       fmt::format("is \"free\", which is not a recipe of {}; set it to delayed, current, block or mx",
                   title)},
      {parallel.dtype == Dtype::kTf32, "/parallel/dtype",
       fmt::format("is \"tf32\", which no argument of {} selects; use bf16, fp8, fp16 or fp32", title)},
      {model.moe && parallel.tp > 1 && !parallel.sequence_parallel, "/parallel/sequence_parallel",
       fmt::format("is false, but {} trains experts with tensor parallelism only if it is true", title)},
      {parallel.slices_tp() && !parallel.sequence_parallel, "/parallel/tp_overlap",
       fmt::format("is \"sliced\", which {} supports only with sequence_parallel true; use bulk", title)},
      {parallel.overlap_param_gather && !parallel.overlap_grad_reduce, "/parallel/overlap_param_gather",
       fmt::format("is true, which {} supports only with overlap_grad_reduce true", title)},
      {parallel.zero == 0 && parallel.offload_optimizer, "/parallel/offload_optimizer",
       fmt::format("is true, which {} supports only with its distributed optimizer; set zero to 1", title)},
      {parallel.recompute == Recompute::kSelective &&
           parallel.selective_recompute != SelectiveRecompute::kCheap,
       "/parallel/selective_recompute",
       fmt::format("is \"every_second_matmul\", which is how TorchTitan recomputes; for {}, set it to cheap",
                   title)},
  };
  for (const Limit& limit : limits) {
    if (limit.is_exceeded) return plan.error(limit.pointer, limit.what);
  }
  return Ok{};
}

}  // namespace goodput::launch
