// Dependencies and communication groups of one Megatron training step (tensor-parallel peers are one worker).
//
// Rules: docs/design.md, "What depends on what"; they reproduce the reference artifact of "Understanding
// Stragglers in Large Model Training Using What-if Analysis" (OSDI'25).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/megatron_order.h"
#include "sim/errors.h"
#include "sim/op_graph.h"
#include "sim/trace_index.h"

namespace goodput::megatron {

// Whether gradients and parameters are exchanged between replicas: DP (times DP-sharding) above 1.
enum class DataParallel : std::uint8_t { kNo, kYes };

// Edges and groups over the ops of `ops` from their order. Fails where ops do not fit together: peers that do
// not pair up, data-parallel ops without data parallelism, missing ops.
Result<OpGraphSpec> connect(std::span<const TraceOp> ops, const std::vector<StageOrder>& stages,
                            DataParallel dp);

// The whole way for a recorded trace: order, rules, checked graph.
Result<OpGraph> build_graph(const TemplateLane& lane, DataParallel dp);

}  // namespace goodput::megatron
