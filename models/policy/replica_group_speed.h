// How fast a job trains in replica groups: nodes that hold whole replicas of the plan, and over which ZeRO
// shards. A group can go without any other; what that costs in memory and time is in the numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/job/job_model.h"
#include "models/job/training_speed.h"

namespace goodput {

struct ReplicaGroupSize {
  std::int32_t nodes = 1;
  std::int32_t replicas = 1;  // of the plan, with whole expert-parallel groups
};

// The smallest that whole nodes hold, or of so many nodes where that is not 0. Fails, with a pointer to the
// option nodes_per_replica, where whole replicas do not fill them.
[[nodiscard]] Result<ReplicaGroupSize> replica_group(const JobModel& job, std::int32_t nodes);

class ReplicaGroupSpeed final : public TrainingSpeed {
 public:
  // Keeps a reference.
  ReplicaGroupSpeed(const JobModel& job, const ReplicaGroupSize& group, const StepSettings& settings)
      : job_(&job), group_(group), settings_(settings) {}

  [[nodiscard]] std::int32_t whole(std::int32_t nodes) const override;
  [[nodiscard]] std::int32_t usable(std::int32_t nodes) const override;
  [[nodiscard]] Result<StepTime> compute(std::int32_t nodes, std::int64_t step,
                                         double slowest) const override;
  [[nodiscard]] std::int64_t until(std::int64_t /*step*/) const override { return kNoStep; }
  [[nodiscard]] bool follows_routing() const override { return false; }

  [[nodiscard]] const ReplicaGroupSize& group() const { return group_; }
  // The plan of so many groups: ZeRO shards within each, or within parts of it as the plan's own instances
  // do.
  [[nodiscard]] ParallelPlan plan_of(std::int32_t groups) const;

 private:
  const JobModel* job_;
  ReplicaGroupSize group_;
  StepSettings settings_;
};

// The plan on all nodes that there can be.
[[nodiscard]] ParallelPlan widest_plan(const JobModel& job, const ReplicaGroupSpeed& speed);

// What it costs that no shard is outside a group, on all nodes of the job: at most one.
[[nodiscard]] std::vector<std::string> sharding_warnings(const JobModel& job, const ReplicaGroupSpeed& speed);

}  // namespace goodput
