// On how many GPUs and nodes the experts of one token are: the copies that a hierarchical dispatcher sends.
//
// Every set of top_k experts is taken to be equally likely, as far as the router's groups allow it
// (MoeShape::expert_groups): first top_groups of the groups, then top_k of the experts in them. With E
// experts and no groups, a block of B experts has none of a token's experts with probability C(E-B, k) / C(E,
// k).
#pragma once

#include "models/shape/model_shape.h"
#include "models/step/block_scope.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// The probability that a token goes to at least one expert of a block of so many consecutive experts, on
// average over the blocks that the experts are split into. REQUIRES: 0 < block <= moe.experts.
[[nodiscard]] double chance_of_block(const MoeShape& moe, std::int32_t block);

// Of an average token: the GPUs of its expert-parallel group that hold experts of it. REQUIRES: model.moe.
[[nodiscard]] double gpus_of_token(const BlockScope& scope);
// The nodes other than its own that do. `group`: the expert-parallel group.
[[nodiscard]] double other_nodes_of_token(const BlockScope& scope, const GpuGroup& group);

}  // namespace goodput
