// A training job as its recovery policies see it: what a step takes on n nodes, and what has to be saved.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "models/checkpoint/checkpoint_modules.h"
#include "models/job/job_step.h"
#include "models/plan/training_plan.h"
#include "models/routing/job_routing.h"
#include "sim/base/errors.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// What a job finds when it begins.
enum class JobStart : std::uint8_t {
  kRunning,  // processes are up: time starts with the first step
  kCold,     // they have to be started
};
inline constexpr std::string_view kJobStartNames[] = {"running", "cold"};

// Fixed once made; policies keep references to it.
class JobModel {
 public:
  // `plan` says how many nodes the job has at most: those of its cluster. Errors: those of the cost model.
  static Result<std::unique_ptr<const JobModel>> make(TrainingPlan plan, JobRouting routing, JobStart start);

  JobModel(const JobModel&) = delete;
  JobModel& operator=(const JobModel&) = delete;

  [[nodiscard]] const TrainingPlan& plan() const { return plan_; }
  [[nodiscard]] const JobRouting& routing() const { return routing_; }
  [[nodiscard]] const MoeStepModel& steps() const { return steps_; }
  [[nodiscard]] const CheckpointModel& modules() const { return modules_; }
  [[nodiscard]] JobStart start() const { return start_; }
  [[nodiscard]] std::int32_t most_nodes() const { return plan_.cluster.nodes; }
  [[nodiscard]] bool has_experts() const { return plan_.model.moe.has_value(); }

 private:
  JobModel(TrainingPlan plan, JobRouting routing, JobStart start, std::unique_ptr<CostModel> cost);

  TrainingPlan plan_;
  JobRouting routing_;
  JobStart start_;
  CheckpointModel modules_;
  std::unique_ptr<CostModel> cost_;
  MoeStepModel steps_;
};

}  // namespace goodput
