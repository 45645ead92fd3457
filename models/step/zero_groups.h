// Which GPUs ZeRO shards over, and which of them hold the same shard (ParallelPlan::zero_instances).
#pragma once

#include "models/plan/training_plan.h"
#include "models/schedule/schedule.h"
#include "sim/machine/cost_model.h"

namespace goodput {

struct ShardedOver {
  GpuGroup shards;     // that share out what each of them would hold; without ZeRO: that hold it all
  GpuGroup instances;  // with the same shard; one GPU where there is one instance
};

struct ZeroGroups {
  ShardedOver dense;
  ShardedOver experts;  // REQUIRES of who uses it: experts in groups of the plan's ep
};

// REQUIRES: check_training_plan(plan, slots).
[[nodiscard]] ZeroGroups zero_groups(const TrainingPlan& plan, const PipelineSchedule& schedule,
                                     ExpertSlots slots);

}  // namespace goodput
