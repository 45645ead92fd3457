// What a planned step comes to: time, utilisation, bubble, exposed communication, and where the time goes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/step/memory_model.h"
#include "models/step/planned_step.h"
#include "sim/base/tier.h"
#include "sim/base/units.h"

namespace goodput {

// Time that ops of one kind account for on the longest path through the step.
struct CriticalShare {
  std::string label;  // StepOp::label()
  SimDuration time{};
};

struct StepReport {
  SimDuration step{};
  double tokens_per_second = 0;
  double mfu = 0;  // useful_flops_per_token() against the GPUs' rated FLOP/s in the plan's dtype
  double hfu = 0;  // the same with every matrix multiplication that runs: recomputation, whole score matrices
  double bubble = 0;                       // share of the pipeline's time in which stages idle, were
                                           // communication free
  SimDuration exposed_communication{};     // by how much the step is longer than if communication were free
  std::optional<SimDuration> over_nics{};  // step_time_over_nics(), where it was asked for
  std::vector<CriticalShare> critical;     // longest first
  MemoryReport memory;
  Tier tier = Tier::kModel;
};

// The step as TimingEngine finds it.
[[nodiscard]] SimDuration step_time(const PlannedStep& step);

// The same by the event-driven engine, with the NIC of every GPU shared by what runs over it at the same time
// (step_work_over_nics). At least step_time().
[[nodiscard]] SimDuration step_time_over_nics(const PlannedStep& step, BytesPerSecond nic);

// Of the plan's schedule. REQUIRES: check_training_plan(plan).
[[nodiscard]] MemoryReport planned_memory(const TrainingPlan& plan);

[[nodiscard]] StepReport report_step(const TrainingPlan& plan, const PlannedStep& step);

// Useful operations of a step (useful_flops_per_token()) against what the GPUs of `parallel` are rated for
// in its dtype. The rest is of `plan`.
[[nodiscard]] double model_flops_utilization(const TrainingPlan& plan, const ParallelPlan& parallel,
                                             SimDuration step);

// What the kernels of models/step/block_work.h multiply.
[[nodiscard]] double hardware_flops_per_token(const TrainingPlan& plan);

// The share of attention's scores, and of their products with the values, in hardware_flops_per_token(). The
// sequence is one document.
[[nodiscard]] double attention_share_of_flops(const TrainingPlan& plan);

}  // namespace goodput
