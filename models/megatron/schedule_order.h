// The ops of a step that nobody recorded, in the order a pipeline schedule gives: the counterpart of
// order_from_recording() (models/megatron/megatron_order.h) for plans.
#pragma once

#include <vector>

#include "models/megatron/megatron_order.h"
#include "models/schedule/schedule.h"

namespace goodput::megatron {

// Which ops a step has besides its passes.
struct StepFeatures {
  bool gathers_params = false;      // params-all-gather, one a model chunk (sharded optimizer)
  bool reduces_gradients = false;   // grads-reduce-scatter, one a model chunk (data parallelism)
  bool overlaps_reduction = false;  // a chunk's reduction starts when its last backward pass is done
  bool reduces_embedding = false;   // embedding-grads-all-reduce between the first and the last stage
  bool receives_ahead = false;      // receives do not wait for the pass before theirs (overlapped p2p)
};

struct PlannedOps {
  std::vector<TraceOp> ops;
  std::vector<StageOrder> stages;
  std::vector<std::vector<Pass>> passes;  // by stage, in the order of StageOrder::compute
};

// Op ids are counted per stage and type in schedule order. Sends and receives at the ends of a pipeline with
// several chunks a stage exist but have no peer, as NDTimeline records them. Between positions on one stage
// there is a hand-over instead of messages. gmc is pipeline * positions + position. REQUIRES:
// schedule.check(shape).
[[nodiscard]] PlannedOps order_from_schedule(const PipelineSchedule& schedule, const ScheduleShape& shape,
                                             const StepFeatures& features);

}  // namespace goodput::megatron
