#include "models/synth/synthetic_step.h"

#include <fmt/format.h>

#include <utility>

#include "models/schedule/schedule.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"

namespace goodput {

Result<SyntheticStep> synthetic_step(const TrainingPlan& plan, const CostModel& cost, std::uint64_t seed) {
  const ParallelPlan& parallel = plan.parallel;
  GOODPUT_TRY(const PipelineSchedule* schedule, find_schedule(parallel.schedule));
  if (!schedule->is_recordable()) {
    return plan.error("/parallel/schedule", fmt::format("is \"{}\", but NDTimeline has no names for the ops "
                                                        "of this schedule; use gpipe, 1f1b or interleaved",
                                                        parallel.schedule));
  }
  if (parallel.overlap_p2p && parallel.pp > 1) {
    return plan.error("/parallel/overlap_p2p",
                      "must be false for NDTimeline traces, in which a receive starts only after the "
                      "previous pass has ended");
  }
  GOODPUT_TRY(PlannedStep planned, build_planned_step(plan, cost, Granularity::kOps, seed));
  SyntheticStep step{{}, std::move(planned.graph), {}};
  GOODPUT_CHECK(planned.lanes.lanes() == 1, "whole ops must cost the same on all expert-parallel ranks");
  step.dp = parallel.dp;
  step.pp = parallel.pp;
  step.vpp = parallel.vpp;
  step.rank_gap = parallel.tp * parallel.cp;
  step.sequence_length = parallel.sequence_length;
  step.sequences = parallel.micro_batch;
  step.attention_share = attention_share_of_flops(plan);
  step.tier = planned.tier;
  for (OpId op = 0; op < planned.ops.size(); ++op) {
    step.ops.push_back(planned.ops[op].op);
    step.value_s.push_back(1e-9 * planned.values_ns[planned.row_of[op] * planned.lanes.stride()]);
  }
  return step;
}

}  // namespace goodput
