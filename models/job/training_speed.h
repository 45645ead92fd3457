// How fast a job trains on n nodes: step times of the op graph, each computed once.
#pragma once

#include <cstdint>
#include <vector>

#include "models/job/job_model.h"
#include "sim/job/recovery_policy.h"

namespace goodput {

class TrainingSpeed {
 public:
  virtual ~TrainingSpeed() = default;

  // The most of `nodes` nodes that the job can fill; 0: it cannot train on so few.
  [[nodiscard]] virtual std::int32_t whole(std::int32_t nodes) const = 0;
  // Of those, the nodes that it uses: all, unless the batch leaves some with nothing to do.
  [[nodiscard]] virtual std::int32_t usable(std::int32_t nodes) const = 0;

  // at(), anew. Fails on what the plan or its cost model cannot do.
  [[nodiscard]] virtual Result<StepTime> compute(std::int32_t nodes, std::int64_t step,
                                                 double slowest) const = 0;

  // Step `step` on exactly `nodes` nodes, the slowest of which has that speed.
  // REQUIRES: usable(nodes) == nodes > 0, and compute() does not fail.
  [[nodiscard]] virtual const StepTime& at(std::int32_t nodes, std::int64_t step, double slowest) = 0;

  // First step from `step` on that may take another time.
  [[nodiscard]] virtual std::int64_t until(std::int64_t step) const = 0;
  // Whether experts get what the job's routing says; else what the plan says of them.
  [[nodiscard]] virtual bool follows_routing() const = 0;

  [[nodiscard]] Pace pace(std::int32_t nodes, std::int64_t step, double slowest) {
    return {at(nodes, step, slowest).step, until(step)};
  }
};

// The step time with a slow node that was last asked for: it is asked for again as long as the node is slow.
struct SlowStep {
  std::int32_t nodes = 0;
  std::size_t window = 0;
  double slowest = 1;
  StepTime time{};

  [[nodiscard]] bool is_of(std::int32_t other_nodes, std::size_t other_window, double other) const {
    return nodes == other_nodes && window == other_window && slowest == other;
  }
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
  [[nodiscard]] const StepTime& at(std::int32_t nodes, std::int64_t step, double slowest) override;
  [[nodiscard]] std::int64_t until(std::int64_t /*step*/) const override { return kNoStep; }
  [[nodiscard]] bool follows_routing() const override { return false; }

 private:
  const JobModel* job_;
  StepSettings settings_;
  std::vector<StepTime> healthy_;  // by nodes; step 0: not known yet
  SlowStep slow_;
};

// Whole groups of `ep` GPUs that share out the experts (DeepSpeed-MoE).
class ExpertParallelSpeed final : public TrainingSpeed {
 public:
  // Keeps a reference.
  ExpertParallelSpeed(const JobModel& job, std::int32_t ep, const StepSettings& settings);

  [[nodiscard]] std::int32_t whole(std::int32_t nodes) const override;
  [[nodiscard]] std::int32_t usable(std::int32_t nodes) const override;
  [[nodiscard]] Result<StepTime> compute(std::int32_t nodes, std::int64_t step,
                                         double slowest) const override;
  [[nodiscard]] const StepTime& at(std::int32_t nodes, std::int64_t step, double slowest) override;
  [[nodiscard]] std::int64_t until(std::int64_t step) const override;
  [[nodiscard]] bool follows_routing() const override { return true; }

 private:
  const JobModel* job_;
  std::int32_t ep_;
  StepSettings settings_;
  std::vector<std::vector<StepTime>> healthy_;  // by nodes, then routing window
  SlowStep slow_;
};

}  // namespace goodput
