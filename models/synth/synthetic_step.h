// One training step that nobody ran: what its ops are, which waits for which, and what each takes while
// nothing straggles. The traces of models/synth/synthetic_trace.h repeat it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/megatron/schedule_order.h"
#include "models/plan/training_plan.h"
#include "sim/base/errors.h"
#include "sim/base/tier.h"
#include "sim/machine/cost_model.h"
#include "sim/ops/op_graph.h"
#include "sim/ops/trace_index.h"

namespace goodput {

struct SyntheticStep {
  std::vector<TraceOp> ops;  // by OpId
  OpGraph graph;
  std::vector<double> value_s;  // by OpId: durations, transfer times
  std::int32_t dp = 1;
  std::int32_t pp = 1;
  std::int32_t vpp = 1;
  std::int32_t rank_gap = 1;  // from one recorded worker to the next: tensor- and context-parallel peers
  std::int64_t sequence_length = 1;  // tokens
  std::int32_t sequences = 1;        // a micro-batch
  // attention_share_of_flops() of the plan; absent: there is no plan.
  std::optional<double> attention_share{};
  Tier tier = Tier::kAssumed;  // what the costs rest on
};

// The step of a plan. Fails, naming the field, on schedules and options that NDTimeline's traces cannot show.
// REQUIRES: check_training_plan(plan).
Result<SyntheticStep> synthetic_step(const TrainingPlan& plan, const CostModel& cost, std::uint64_t seed);

}  // namespace goodput
