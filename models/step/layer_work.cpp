#include "models/step/layer_work.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "models/step/fp8_casts.h"
#include "models/step/token_copies.h"

namespace goodput {
namespace {

double activation_bytes(const BlockScope& scope) {
  return scope.plan.number_bytes() * scope.tokens() * scope.model.hidden;
}

void append_parts(std::vector<PartWork>& parts, std::vector<PartWork> more) {
  std::move(more.begin(), more.end(), std::back_inserter(parts));
}

}  // namespace

bool LayerWork::has_experts(std::int32_t layer) const {
  return scope_.model.is_moe_layer(std::min(layer, scope_.model.layers - 1));
}

ExpertShare LayerWork::balanced_share() const {
  if (!scope_.model.moe) return {};
  // What the GPUs of the group send out comes back to them, spread evenly.
  return {scope_.routed_tokens(), 1};
}

// The outputs of a tensor-parallel block are summed up: an all-reduce, or a reduce-scatter behind the block
// and an all-gather in front of the next where norms are sharded.
// `beside` hides it where the plan overlaps them.
void LayerWork::add_tensor_parallel(std::vector<PartWork>& parts, LayerPart part, std::vector<Kernel> beside,
                                    double share_alone) const {
  if (scope_.plan.tp == 1) return;
  const double bytes = activation_bytes(scope_);
  PartWork work{part};
  work.beside = std::move(beside);
  work.share_alone = share_alone;
  if (scope_.plan.sequence_parallel) {
    work.collectives = {{Collective::kReduceScatter, bytes, groups_.tensor},
                        {Collective::kAllGather, gathered_bytes(), groups_.tensor}};
  } else {
    work.collectives = {{Collective::kAllReduce, bytes, groups_.tensor}};
  }
  parts.push_back(std::move(work));
}

// fp8 with dense layers: rows are cast before they are gathered (models/step/fp8_casts.h).
double LayerWork::gathered_bytes() const {
  const bool in_8_bits = Fp8Casts(scope_.plan).bytes > 0 && !scope_.model.moe;
  return in_8_bits ? activation_bytes(scope_) / 2 : activation_bytes(scope_);
}

// Split into one slice per peer. The last slice of the scatter and the first slice of the gather do not
// overlap with anything.
void LayerWork::add_forward_tensor_parallel(std::vector<PartWork>& parts, LayerPart part,
                                            std::vector<Kernel> products) const {
  if (!scope_.plan.slices_tp()) products.clear();
  add_tensor_parallel(parts, part, std::move(products), 1.0 / scope_.plan.tp);
}

// Matmul inputs that are gathered from peers are not kept, so they are gathered again. Scattered outputs are
// kept.
void LayerWork::add_recomputed_gathers(std::vector<PartWork>& parts) const {
  const ParallelPlan& plan = scope_.plan;
  if (plan.tp == 1 || !plan.sequence_parallel || !plan.recomputes(SelectiveRecompute::kEverySecondMatmul))
    return;
  const CollectiveCall gather{Collective::kAllGather, gathered_bytes(), groups_.tensor};
  parts.push_back({LayerPart::kAttentionTp, {}, {gather, gather}});
}

// Every GPU needs the keys and values of the whole sequence; backwards again, and their gradients are summed
// up.
void LayerWork::add_context_parallel(std::vector<PartWork>& parts, bool backward) const {
  if (scope_.plan.cp == 1) return;
  const ModelShape& model = scope_.model;
  const double tp = scope_.plan.tp;
  const double width = model.latent ? model.heads / tp * (model.latent->nope_dim + model.latent->value_dim) +
                                          model.latent->rope_dim
                                    : 2 * std::max(1.0, model.kv_heads / tp) * model.head_dim;
  const double bytes = scope_.plan.number_bytes() * scope_.tokens() * scope_.plan.cp * width;
  PartWork work{LayerPart::kAttentionCp, {}, {{Collective::kAllGather, bytes, groups_.context}}};
  if (backward) work.collectives.push_back({Collective::kReduceScatter, bytes, groups_.context});
  if (scope_.plan.overlap_cp) work.beside = attention_to_arriving_keys(scope_, backward);
  parts.push_back(std::move(work));
}

// If the GPUs that share an expert hold different tokens, each needs the rows of all: they are gathered
// before the expert, and its output is reduced and scattered after it.
void LayerWork::add_routed_rows(std::vector<PartWork>& parts, Collective kind,
                                const ExpertShare& share) const {
  if (!exchanges_rows()) return;
  parts.push_back(
      {LayerPart::kExpertsTp,
       {},
       {{kind, scope_.plan.number_bytes() * share.tokens * scope_.model.hidden, groups_.expert_tensor}}});
}

double LayerWork::shared_hidden_size() const {
  return static_cast<double>(scope_.model.moe->shared_experts) * scope_.model.moe->expert_ffn;
}

// Every GPU tells every other how many tokens it has for each expert.
CollectiveCall LayerWork::count_exchange() const {
  return {Collective::kAllGather, 4.0 * scope_.model.moe->experts * groups_.expert.size, groups_.expert};
}

CollectiveCall LayerWork::routed_all_to_all(const ExpertShare& share, double bytes_per_value) const {
  const double of_token = bytes_per_value * scope_.model.hidden;
  CollectiveCall call{Collective::kAllToAll, of_token * scope_.norm_tokens() * scope_.model.moe->top_k,
                      groups_.expert, share.imbalance};
  if (scope_.plan.dispatcher == TokenDispatcher::kHierarchical) {
    // On each node, the GPU that receives a token forwards it to every other GPU there with experts of it.
    const double near = std::min(groups_.expert.per_node, groups_.expert.size);
    const double bytes = of_token * scope_.norm_tokens();
    call.by_link = {bytes * gpus_of_token(scope_) * (near - 1) / near,
                    bytes * other_nodes_of_token(scope_, groups_.expert)};
  }
  return call;
}

std::vector<PartWork> LayerWork::forward_by_rank(const ExpertShare& share) const {
  std::vector<PartWork> parts;
  add_routed_rows(parts, Collective::kAllGather, share);
  parts.push_back({LayerPart::kExperts, experts_forward(scope_, share.tokens)});
  add_routed_rows(parts, Collective::kReduceScatter, share);
  return parts;
}

std::vector<PartWork> LayerWork::routed_backward(const ExpertShare& share, Gradients gradients) const {
  const bool communicates = has_activations(gradients);
  std::vector<PartWork> parts;
  if (communicates) add_routed_rows(parts, Collective::kAllGather, share);
  parts.push_back({LayerPart::kExperts, experts_backward(scope_, share.tokens, gradients)});
  if (communicates) add_routed_rows(parts, Collective::kReduceScatter, share);
  return parts;
}

std::vector<PartWork> LayerWork::backward_by_rank(const ExpertShare& share, Gradients gradients) const {
  std::vector<PartWork> parts;
  if (scope_.plan.recompute == Recompute::kFull && has_activations(gradients)) parts = forward_by_rank(share);
  append_parts(parts, routed_backward(share, gradients));
  return parts;
}

std::vector<PartWork> LayerWork::forward(std::int32_t layer, const ExpertShare& share) const {
  std::vector<PartWork> parts;
  if (layer >= scope_.model.layers)
    parts.push_back({LayerPart::kMtpProjection, mtp_projection_forward(scope_)});
  add_context_parallel(parts, false);
  parts.push_back({LayerPart::kAttention, attention_forward(scope_)});
  const bool is_dense = !has_experts(layer);
  add_forward_tensor_parallel(parts, LayerPart::kAttentionTp,
                              products_around_attention_reduction(scope_, is_dense ? scope_.model.ffn : 0));
  if (is_dense) {
    parts.push_back({LayerPart::kFfn, ffn_forward(scope_, scope_.model.ffn)});
    add_forward_tensor_parallel(parts, LayerPart::kFfnTp,
                                products_around_ffn_reduction(scope_, scope_.model.ffn));
    return parts;
  }
  parts.push_back({LayerPart::kRouter, router_forward(scope_)});
  if (scope_.plan.ep > 1) {
    parts.push_back({LayerPart::kCountExchange, {}, {count_exchange()}});
    const double width = scope_.plan.dispatched_bytes();
    parts.push_back({LayerPart::kDispatch, {}, {routed_all_to_all(share, width)}});
  }
  if (has_shared_experts()) parts.push_back({LayerPart::kFfn, ffn_forward(scope_, shared_hidden_size())});
  append_parts(parts, forward_by_rank(share));
  if (scope_.plan.ep > 1)
    parts.push_back({LayerPart::kCombine, {}, {routed_all_to_all(share, scope_.plan.number_bytes())}});
  if (sums_up_experts()) add_tensor_parallel(parts, LayerPart::kFfnTp);
  return parts;
}

std::vector<PartWork> LayerWork::backward(std::int32_t layer, const ExpertShare& share,
                                          Gradients gradients) const {
  std::vector<PartWork> parts;
  const bool communicates = has_activations(gradients);
  const bool slices = scope_.plan.slices_tp() && gradients == Gradients::kAll;
  // Products of weight gradients hide reductions where the pass runs them.
  const auto hideaway = [&](std::vector<Kernel> kernels) {
    const bool overlaps = scope_.plan.overlap_tp_reduce && has_weights(gradients);
    return overlaps ? std::move(kernels) : std::vector<Kernel>{};
  };
  if (scope_.plan.recompute == Recompute::kFull && communicates) parts = forward(layer, share);
  if (has_experts(layer)) {
    // Gradients travel the way of the tokens, back and forth, in 16 bits.
    const bool travels = communicates && scope_.plan.ep > 1;
    if (communicates && sums_up_experts()) add_tensor_parallel(parts, LayerPart::kFfnTp);
    if (travels)
      parts.push_back({LayerPart::kCombine, {}, {routed_all_to_all(share, scope_.plan.number_bytes())}});
    append_parts(parts, routed_backward(share, gradients));
    if (has_shared_experts()) {
      parts.push_back({LayerPart::kFfn, ffn_backward(scope_, shared_hidden_size(), gradients)});
    }
    if (travels)
      parts.push_back({LayerPart::kDispatch, {}, {routed_all_to_all(share, scope_.plan.number_bytes())}});
    parts.push_back({LayerPart::kRouter, router_backward(scope_, gradients)});
  } else {
    parts.push_back({LayerPart::kFfn, ffn_backward(scope_, scope_.model.ffn, gradients)});
    if (communicates && slices) {
      add_tensor_parallel(parts, LayerPart::kFfnTp, products_around_ffn_gradient(scope_, scope_.model.ffn),
                          1.0 / scope_.plan.tp);
    } else if (communicates) {
      add_tensor_parallel(parts, LayerPart::kFfnTp,
                          hideaway(ffn_input_weight_gradient(scope_, scope_.model.ffn)));
    }
  }
  parts.push_back({LayerPart::kAttention, attention_backward(scope_, gradients)});
  if (communicates && slices) {
    const double hidden_size = has_experts(layer) ? 0 : scope_.model.ffn;
    add_tensor_parallel(parts, LayerPart::kAttentionTp,
                        products_around_attention_gradient(scope_, hidden_size), 1.0 / scope_.plan.tp);
  } else if (communicates) {
    add_tensor_parallel(parts, LayerPart::kAttentionTp, hideaway(attention_input_weight_gradient(scope_)));
  }
  if (communicates) {
    add_recomputed_gathers(parts);
    add_context_parallel(parts, true);
  }
  if (layer >= scope_.model.layers) {
    parts.push_back({LayerPart::kMtpProjection, mtp_projection_backward(scope_, gradients)});
  }
  return parts;
}

std::vector<PartWork> LayerWork::embedding_forward() const {
  std::vector<PartWork> parts = {{LayerPart::kEmbedding, goodput::embedding_forward(scope_)}};
  if (scope_.plan.tp == 1) return parts;
  // Every GPU looks up the tokens of its part of the vocabulary.
  const Collective kind = scope_.plan.sequence_parallel ? Collective::kReduceScatter : Collective::kAllReduce;
  parts.push_back({LayerPart::kEmbeddingTp, {}, {{kind, activation_bytes(scope_), groups_.tensor}}});
  return parts;
}

std::vector<PartWork> LayerWork::embedding_backward() const {
  std::vector<PartWork> parts = {{LayerPart::kEmbedding, goodput::embedding_backward(scope_)}};
  if (scope_.plan.tp == 1 || !scope_.plan.sequence_parallel) return parts;
  const CollectiveCall gather{Collective::kAllGather, activation_bytes(scope_), groups_.tensor};
  parts.push_back({LayerPart::kEmbeddingTp, {}, {gather}});
  return parts;
}

std::vector<PartWork> LayerWork::head_forward() const {
  std::vector<PartWork> parts = {{LayerPart::kHead, goodput::head_forward(scope_)}};
  if (scope_.plan.tp == 1) return parts;
  // Largest logit, sum of exponentials, logit of the target: 4 bytes a token each.
  PartWork work{LayerPart::kHeadTp};
  work.collectives.assign(3, {Collective::kAllReduce, 4 * scope_.tokens(), groups_.tensor});
  if (scope_.plan.sequence_parallel) {
    work.collectives.push_back({Collective::kAllGather, activation_bytes(scope_), groups_.tensor});
  }
  parts.push_back(std::move(work));
  return parts;
}

std::vector<PartWork> LayerWork::head_backward(Gradients gradients) const {
  std::vector<PartWork> parts = {{LayerPart::kHead, goodput::head_backward(scope_, gradients)}};
  if (scope_.plan.tp == 1 || !has_activations(gradients)) return parts;
  const Collective kind = scope_.plan.sequence_parallel ? Collective::kReduceScatter : Collective::kAllReduce;
  parts.push_back({LayerPart::kHeadTp, {}, {{kind, activation_bytes(scope_), groups_.tensor}}});
  return parts;
}

}  // namespace goodput
