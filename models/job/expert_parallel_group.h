// The experts of an expert-parallel group, and what its GPUs get to do in a layer. All groups of a job are
// alike, and every GPU routes as many tokens to an expert as any other.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/dispatch/expert_hosts.h"
#include "models/placement/expert_placement.h"
#include "models/step/step_routing.h"
#include "sim/base/errors.h"

namespace goodput {

// How tokens reach their experts.
enum class ExpertDispatch : std::uint8_t {
  // In buffers of one size for all experts, sent and multiplied full or not: as large as what the hottest
  // expert gets of the rank that has most for it (DeepSpeed-MoE without dropped tokens).
  kPadded,
  // As they are: all-to-alls of uneven splits, grouped products (Megatron-Core, MegaBlocks).
  kDropless,
};
inline constexpr std::string_view kExpertDispatchNames[] = {"padded", "dropless"};

struct ExpertParallelGroup {
  std::int32_t gpus = 1;       // that share out the experts of a layer: ep
  std::int32_t redundant = 0;  // slots of a GPU beyond experts / gpus, for replicas of busy experts
  // By MoE layer, a row of slots a GPU. None: GPU j holds experts [j, j + 1) * experts / gpus, and nothing is
  // redundant.
  std::vector<ExpertPlacement> layers{};

  // REQUIRES: gpus divides the experts.
  [[nodiscard]] std::int32_t slots_per_gpu(std::int32_t experts) const { return experts / gpus + redundant; }
  // By MoE layer, of so many experts; one for all layers where none are given. Fails on an expert that the
  // layer does not have.
  [[nodiscard]] Result<std::vector<moe::ExpertHosts>> hosts(std::int32_t experts) const;
  // Whether every routing group of the model has its experts on one node, in all layers; or side by side, if
  // they are in order. REQUIRES: model with experts.
  [[nodiscard]] bool keeps_routing_groups(const MoeShape& moe, std::int32_t gpus_per_node) const;
  // The GPUs of a group that share a node, at the least.
  [[nodiscard]] std::int32_t gpus_together(std::int32_t gpus_per_node) const;
};

// Of buffers of one size. `tokens` by expert, of all `ranks`; `mean`: tokens that a GPU routes. An expert's
// tokens are shared out evenly over its replicas in a group.
[[nodiscard]] ExpertShare padded_share(const moe::ExpertHosts& hosts, std::span<const std::int64_t> tokens,
                                       std::int64_t ranks, double mean);

// Gradients of experts of which a group holds several replicas: busiest_replicas() over `groups` groups,
// which fill nodes one after the other; the last node counts as full. `layers`: by position of the pipeline
// (expert_layers_by_position).
[[nodiscard]] Result<std::vector<std::vector<ReplicaGroup>>> replicas_of_groups(
    const ExpertParallelGroup& group, std::int32_t experts, std::int64_t groups, std::int32_t gpus_per_node,
    std::span<const std::vector<std::size_t>> layers);

}  // namespace goodput
