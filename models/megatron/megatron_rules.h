// Dependencies and communication groups of one Megatron training step (tensor-parallel peers are one worker).
//
// Rules: docs/design.md, "What depends on what"; they reproduce the reference artifact of "Understanding
// Stragglers in Large Model Training Using What-if Analysis" (OSDI'25).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/megatron/megatron_order.h"
#include "sim/base/errors.h"
#include "sim/ops/op_graph.h"
#include "sim/ops/trace_index.h"

namespace goodput::megatron {

// Edges and groups over the ops of `ops` from their order. Fails where ops do not fit together: peers that do
// not pair up, stages without an overlapped reduction that others have.
Result<OpGraphSpec> connect(std::span<const TraceOp> ops, const std::vector<StageOrder>& stages);

// The whole way for a recorded trace: order, rules, checked graph.
Result<OpGraph> build_graph(const TemplateLane& lane);

}  // namespace goodput::megatron
