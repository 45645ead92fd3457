#include "models/launch/effective_plan.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace goodput::launch {
namespace {

// Lists the layers that have experts, unless all have.
void settle_expert_layers(ModelShape& model) {
  std::vector<std::int32_t> layers;
  for (std::int32_t layer = 0; layer < model.layers; ++layer) {
    if (model.is_moe_layer(layer)) layers.push_back(layer);
  }
  const bool is_everywhere = std::cmp_equal(layers.size(), model.layers);
  if (is_everywhere) {
    layers.clear();
    model.ffn = 0;
  }
  model.moe->layers = std::move(layers);
  model.moe->first_layer = 0;
  model.moe->layer_step = 1;
  if (model.moe->shared_experts == 0) model.moe->shared_gate = false;
}

void settle_dispatch(ParallelPlan& plan, bool has_experts) {
  const bool is_dispatched = has_experts && plan.ep > 1;
  plan.etp = has_experts ? plan.expert_tp() : 0;
  plan.dispatch_bytes = is_dispatched ? static_cast<std::int32_t>(plan.dispatched_bytes()) : 0;
  if (!is_dispatched)
    plan.dispatcher = TokenDispatcher::kUnstated;
  else if (plan.dispatcher == TokenDispatcher::kUnstated)
    plan.dispatcher = TokenDispatcher::kAllToAll;
  if (!has_experts)
    plan.expert_matmuls = ExpertMatmuls::kUnstated;
  else if (plan.expert_matmuls == ExpertMatmuls::kUnstated)
    plan.expert_matmuls = ExpertMatmuls::kBatched;
}

}  // namespace

TrainingPlan effective(TrainingPlan plan) {
  ParallelPlan& parallel = plan.parallel = settled(plan.parallel, plan.cluster.gpus_per_node);
  if (plan.model.moe) settle_expert_layers(plan.model);
  settle_dispatch(parallel, plan.model.moe.has_value());
  if (parallel.tp == 1) parallel.sequence_parallel = parallel.overlap_tp_reduce = false;
  if (parallel.pp == 1) parallel.overlap_p2p = false;
  if (parallel.zero == 0) parallel.overlap_param_gather = false;
  if (parallel.dp == 1 && parallel.cp == 1)
    parallel.overlap_grad_reduce = parallel.overlap_param_gather = false;
  parallel.optimizer_bytes = static_cast<std::int32_t>(parallel.state_bytes());
  if (parallel.pad_vocab_to == 0 && plan.model.vocab % parallel.tp == 0) parallel.pad_vocab_to = 1;
  std::vector<std::int32_t>& split = parallel.layers_per_stage;
  if (std::ranges::adjacent_find(split, std::ranges::not_equal_to{}) == split.end()) split.clear();
  return plan;
}

}  // namespace goodput::launch
