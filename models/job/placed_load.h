// How many tokens each GPU computes, sends and receives in a layer whose experts are placed so, and in which
// groups the gradients of its experts are added up.
//
// Tokens go where the dispatcher sends them (models/dispatch/dispatch.h). All GPUs route as many to an expert
// (tokens_of_rank), unless counts are given for each. GPU g of node n is rank n * gpus_per_node + g.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/dispatch/expert_hosts.h"
#include "models/placement/expert_placement.h"
#include "models/routing/rank_spread.h"
#include "models/step/step_routing.h"
#include "sim/base/errors.h"

namespace goodput {

// The slots of every node in the order of its GPUs, as in_order_of_gpus() leaves them
// (models/placement/gpu_slots.h). REQUIRES: gpus_per_node divides the slots. Fails on an expert the layer
// does not have.
Result<moe::ExpertHosts> hosts_of(const ExpertPlacement& placement, std::int32_t gpus_per_node);

// Tokens of one GPU. An expert's surplus goes to its hosts in proportion to what they have free, so that what
// stays within a node is a share of it, and no whole number.
struct GpuLoad {
  std::int64_t computed = 0;
  double sent = 0;  // to other nodes; where there are none, to other GPUs
  double received = 0;
};

// By rank; `tokens` by expert, of all ranks together. `ranks`: how those of MoE layer `layer` spread over
// them. Fails on tokens of an expert that no GPU hosts.
Result<std::vector<GpuLoad>> placed_loads(const moe::ExpertHosts& hosts, std::int32_t gpus_per_node,
                                          std::span<const std::int64_t> tokens, const RankSpread& ranks = {},
                                          std::size_t layer = 0);

// Of the rank that computes most, with the traffic of the GPU that sends or receives most; `mean`: tokens
// that a GPU routes. All ranks meet before and after the experts of every layer, so that each layer takes as
// long as if every rank had a share of its own.
[[nodiscard]] ExpertShare busiest_share(std::span<const GpuLoad> loads, std::int32_t gpus_per_node,
                                        double mean);

// The groups in which the gradients of a GPU's experts are added up, for the GPU that sends most of them
// between nodes (of several the first), over all layers. The nodes with an expert form a ring with the first
// GPU of each that hosts it; replicas inside a node are added up there, those on one GPU for nothing. Empty
// where every expert is on one GPU. Layer i has the hosts at hosts_of_layer[i]; `copies`: other nodes hold
// the same again, so many times in all. REQUIRES: hosts of as many ranks.
[[nodiscard]] std::vector<ReplicaGroup> busiest_replicas(std::span<const moe::ExpertHosts> hosts,
                                                         std::span<const std::size_t> hosts_of_layer,
                                                         std::int32_t gpus_per_node, std::int32_t copies = 1);

}  // namespace goodput
