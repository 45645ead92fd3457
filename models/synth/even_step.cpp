#include "models/synth/even_step.h"

#include <utility>
#include <vector>

#include "models/megatron/megatron_rules.h"
#include "models/megatron/schedule_order.h"
#include "models/schedule/schedule.h"

namespace goodput {
namespace {

// What an op takes in a job whose stages need forward_s for a pass.
double even_cost(OpType type, const EvenStepShape& shape) {
  const double pass = shape.forward_s / shape.vpp;
  switch (type) {
    case OpType::kForwardCompute:
      return pass;
    case OpType::kBackwardCompute:
      return 2 * pass;
    case OpType::kForwardSend:
    case OpType::kForwardRecv:
    case OpType::kBackwardSend:
    case OpType::kBackwardRecv:
      return shape.message_share * shape.forward_s;
    case OpType::kParamsAllGather:
      return 0.3 * pass;
    case OpType::kGradsReduceScatter:
      return 0.5 * pass;
    case OpType::kEmbeddingGradsAllReduce:
      return 0.05 * shape.forward_s;
    case OpType::kGc:
      return 0;
    case OpType::kOptimizer:
      return 0.5 * shape.forward_s;
    default:
      return 0.01 * shape.forward_s;
  }
}

// Costs by index into planned.ops. The sizes are the caller's to set.
SyntheticStep connected(const megatron::PlannedOps& planned, const std::vector<double>& value_s) {
  const Result<OpGraphSpec> spec = megatron::connect(planned.ops, planned.stages);
  GOODPUT_CHECK(spec, "the passes of the schedule cannot be connected");
  Result<OpGraph> graph = OpGraph::build(*spec, [&](std::uint32_t op) { return planned.ops[op].name(); });
  GOODPUT_CHECK(graph, "the passes of the schedule wait for each other");
  SyntheticStep step{{}, *std::move(graph), {}};
  for (const std::uint32_t op : step.graph.caller_index()) {
    step.ops.push_back(planned.ops[op]);
    step.value_s.push_back(value_s[op]);
  }
  return step;
}

}  // namespace

SyntheticStep even_step(const EvenStepShape& shape) {
  const PipelineSchedule& schedule = *find_schedule(shape.schedule).value();
  megatron::StepFeatures features;
  features.gathers_params = features.reduces_gradients = shape.dp > 1;
  features.overlaps_reduction = shape.dp > 1 && shape.overlaps_reduction;
  features.reduces_embedding = shape.pp > 1;
  const megatron::PlannedOps planned =
      megatron::order_from_schedule(schedule, {shape.pp, shape.vpp, shape.micro_batches}, features);
  std::vector<double> value_s;
  for (const TraceOp& op : planned.ops) value_s.push_back(even_cost(op.type, shape));
  SyntheticStep step = connected(planned, value_s);
  step.dp = shape.dp;
  step.pp = shape.pp;
  step.vpp = shape.vpp;
  step.rank_gap = shape.gpus_per_worker;
  step.sequence_length = shape.sequence_length;
  return step;
}

}  // namespace goodput
