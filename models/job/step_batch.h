// How many samples a step trains, and how replicas share them out.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/plan/parallel_plan.h"
#include "models/schedule/schedule.h"

namespace goodput {

// What becomes of a step's samples when a job has more or fewer replicas than its plan.
enum class BatchRule : std::uint8_t {
  kFixed,       // there are as many as the plan says: the same training, whatever the nodes
  kPerReplica,  // every replica trains as many as the plan's do: another batch, which is another training
};
inline constexpr std::string_view kBatchRuleNames[] = {"fixed", "per_replica"};

// REQUIRES: a plan that check_training_plan() found fine.
class StepBatch {
 public:
  StepBatch(const ParallelPlan& plan, BatchRule rule);

  [[nodiscard]] BatchRule rule() const { return rule_; }

  // That a step counts. A fixed batch may leave some micro-batches of its replicas partly empty.
  [[nodiscard]] std::int64_t samples(std::int64_t replicas) const;

  // Of each replica: fixed ceil(samples / (replicas * micro_batch)), rounded up to what the schedule can run.
  [[nodiscard]] std::int64_t micro_batches(std::int64_t replicas) const;

  // Whether the schedule runs as many of them as there are.
  [[nodiscard]] bool runs_any_number() const;
  // Whether a stage holds one model chunk.
  [[nodiscard]] bool has_one_chunk() const;

  // The fewest replicas that need no more micro-batches each than `replicas` do. More of them make no step
  // faster: with a fixed batch the others idle.
  [[nodiscard]] std::int64_t fewest_replicas(std::int64_t replicas) const;

 private:
  // The least number from `count` on that the schedule can run.
  [[nodiscard]] std::int64_t runnable(std::int64_t count) const;

  std::int64_t samples_;             // of a step of the plan
  std::int64_t micro_batch_;         // samples
  std::int64_t plan_micro_batches_;  // of each of its replicas
  ScheduleShape shape_;
  const PipelineSchedule* schedule_;
  BatchRule rule_;
};

}  // namespace goodput
