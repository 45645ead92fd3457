// How fast a job trains on n nodes: step times of the op graph, each computed once for all runs and threads.
#pragma once

#include <cstdint>
#include <tuple>

#include "models/job/expert_parallel_group.h"
#include "models/job/job_model.h"
#include "sim/base/shared_memo.h"
#include "sim/job/recovery_policy.h"

namespace goodput {

class TrainingSpeed {
 public:
  virtual ~TrainingSpeed() = default;

  // The most of `nodes` nodes that the job can fill; 0: it cannot train on so few.
  [[nodiscard]] virtual std::int32_t whole(std::int32_t nodes) const = 0;
  // Of those, the nodes that it uses: all, unless the batch leaves some with nothing to do.
  [[nodiscard]] virtual std::int32_t usable(std::int32_t nodes) const = 0;

  // The fewest of which it uses any. REQUIRES: there is such a number.
  [[nodiscard]] std::int32_t least() const;

  // at(), anew. Fails on what the plan or its cost model cannot do. Steps of one kind take the same time.
  [[nodiscard]] virtual Result<StepTime> compute(std::int32_t nodes, std::int64_t step,
                                                 double slowest) const = 0;
  // The kind of a step, and the first step after it that may be of another. There are only so many kinds,
  // however long the job is, so that their times can be kept.
  struct Stretch {
    std::int64_t kind;
    std::int64_t until;
  };
  [[nodiscard]] virtual Stretch stretch(std::int64_t step) const = 0;
  // Whether experts get what the job's routing says; else what the plan says of them.
  [[nodiscard]] virtual bool follows_routing() const = 0;

  // Step `step` on exactly `nodes` nodes, the slowest of which has that speed. For any number of threads.
  // REQUIRES: usable(nodes) == nodes > 0, and compute() does not fail.
  [[nodiscard]] StepTime at(std::int32_t nodes, std::int64_t step, double slowest) const {
    return known(nodes, step, slowest, stretch(step).kind);
  }
  [[nodiscard]] Pace pace(std::int32_t nodes, std::int64_t step, double slowest) const {
    const auto [kind, end] = stretch(step);
    return {known(nodes, step, slowest, kind).step, end};
  }

 private:
  [[nodiscard]] StepTime known(std::int32_t nodes, std::int64_t step, double slowest,
                               std::int64_t kind) const;

  mutable SharedMemo<2, StepTime> healthy_;  // by nodes and kind
  // Also by speed, of which there may be no end.
  mutable BoundedMemo<std::tuple<std::int32_t, std::int64_t, double>, StepTime> slow_{10'000};
};

// The plan's replicas, as many as fit. With experts: with the plan's own groups and routing.
class DenseSpeed final : public TrainingSpeed {
 public:
  // Keeps a reference.
  DenseSpeed(const JobModel& job, const StepSettings& settings);

  [[nodiscard]] std::int32_t whole(std::int32_t nodes) const override;
  [[nodiscard]] std::int32_t usable(std::int32_t nodes) const override;
  [[nodiscard]] Result<StepTime> compute(std::int32_t nodes, std::int64_t step,
                                         double slowest) const override;
  [[nodiscard]] Stretch stretch(std::int64_t /*step*/) const override { return {0, kNoStep}; }
  [[nodiscard]] bool follows_routing() const override { return false; }

 private:
  const JobModel* job_;
  StepSettings settings_;
};

// Who holds which experts of a group in the course of a job. For any number of threads.
class ExpertCourse {
 public:
  virtual ~ExpertCourse() = default;

  // While that step is trained.
  [[nodiscard]] virtual const ExpertParallelGroup& at(std::int64_t step) const = 0;
  // The routing window whose loads that placement follows: at() is the same for steps of the same one.
  [[nodiscard]] virtual std::size_t window(std::int64_t step) const = 0;
  // The first step behind `step` in front of which experts move. kNoStep: none.
  [[nodiscard]] virtual std::int64_t next(std::int64_t step) const = 0;
};

// Whole groups of `ep` GPUs that share out the experts (DeepSpeed-MoE).
class ExpertParallelSpeed final : public TrainingSpeed {
 public:
  // Keeps references. `experts`: of such groups; null: they stay where they are numbered.
  ExpertParallelSpeed(const JobModel& job, std::int32_t ep, const StepSettings& settings,
                      const ExpertCourse* experts = nullptr);

  [[nodiscard]] std::int32_t whole(std::int32_t nodes) const override;
  [[nodiscard]] std::int32_t usable(std::int32_t nodes) const override;
  [[nodiscard]] Result<StepTime> compute(std::int32_t nodes, std::int64_t step,
                                         double slowest) const override;
  [[nodiscard]] Stretch stretch(std::int64_t step) const override;
  [[nodiscard]] bool follows_routing() const override { return true; }

 private:
  const JobModel* job_;
  std::int32_t ep_;
  StepSettings settings_;
  const ExpertCourse* experts_;  // null: none move
};

}  // namespace goodput
