#include "models/step/op_cost.h"

#include "sim/base/errors.h"

namespace goodput {
namespace {

using Kind = OpCost::Kind;

// Over the boundary behind a position; at the ends of the pipeline there is nothing to send.
OpCost send_from(std::int32_t position, std::int32_t positions) {
  if (position < 0 || position + 1 >= positions) return {};
  return {Kind::kSendOnward, position};
}

}  // namespace

OpCost cost_of(const TraceOp& op, std::int32_t positions) {
  const std::int32_t position = op.gmc % positions;
  switch (op.type) {
    case OpType::kForwardSend:
    case OpType::kBackwardRecv:
      return send_from(position, positions);
    case OpType::kForwardRecv:
    case OpType::kBackwardSend:
      return send_from(position - 1, positions);
    case OpType::kParamsAllGather:
      return {Kind::kParamsGather, position};
    case OpType::kGradsReduceScatter:
      return {Kind::kGradientReduction, position};
    case OpType::kSeparateGradsAllReduce:
      return {Kind::kSeparateReduction};
    case OpType::kLayernormGradsAllReduce:
      return {Kind::kLayernormReduction, op.stage};
    case OpType::kEmbeddingGradsAllReduce:
      return {Kind::kEmbeddingReduction};
    case OpType::kOptimizerClipMainGrad:
      return {Kind::kClip, op.stage};
    case OpType::kOptimizer:
      return {Kind::kOptimizer, op.stage};
    case OpType::kGc:
      return {};
    default:
      GOODPUT_CHECK(false, "a pass cannot be priced as a whole");
  }
}

Transfer value_of(OpCost cost, const StepCosts& costs) {
  const auto of = static_cast<std::size_t>(cost.of);
  switch (cost.kind) {
    case Kind::kNothing:
      return {};
    case Kind::kParamsGather:
      return costs.chunks[of].params_gather;
    case Kind::kGradientReduction:
      return costs.chunks[of].gradient_reduction;
    case Kind::kSendOnward:
      return costs.chunks[of].send_onward;
    case Kind::kLayernormReduction:
      return {costs.stages[of].layernorm_reduction};
    case Kind::kClip:
      return {costs.stages[of].clip};
    case Kind::kOptimizer:
      return {costs.stages[of].optimizer};
    case Kind::kEmbeddingReduction:
      return costs.embedding_reduction;
    case Kind::kSeparateReduction:
      return {costs.separate_reduction};
  }
  GOODPUT_CHECK(false, "unknown cost");
}

}  // namespace goodput
