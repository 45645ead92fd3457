// What one GPU of a stage has to hold, and whether it can.
//
// Weights, gradients and optimizer state follow from the plan. Activations count what the backward pass of
// Megatron-LM needs of a layer (Korthikanti et al., 2022, eq. 1 to 4, taken apart by tensor so that grouped
// queries, gated FFNs and experts follow), times the micro-batches alive at once, which the schedule says.
// Experts count with balanced loads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/schedule/schedule.h"
#include "models/step/alive_peaks.h"
#include "sim/base/units.h"

namespace goodput {

struct StageMemory {
  Bytes weights{};
  Bytes gradients{};
  Bytes optimizer{};    // master weights and moments
  Bytes activations{};  // of all micro-batches alive at once
  Bytes working{};      // of the pass at hand: logits, a recomputed layer, gathered parameters
  Bytes reserved{};     // CUDA context, NCCL buffers: assumed
  std::int32_t micro_batches_alive = 0;

  [[nodiscard]] Bytes total() const {
    return weights + gradients + optimizer + activations + working + reserved;
  }
};

struct MemoryReport {
  std::vector<StageMemory> stages;
  std::size_t fullest = 0;  // stage
  Bytes available{};        // available_memory()

  [[nodiscard]] bool fits() const { return stages[fullest].total() <= available; }
  // `stage 0 needs 95.1 GiB of 80.0: activations 60.2, ...`
  [[nodiscard]] std::string verdict() const;
};

// Of a GPU, without the plan's margin.
[[nodiscard]] Bytes available_memory(const TrainingPlan& plan);

// REQUIRES: check_training_plan(plan).
[[nodiscard]] MemoryReport estimate_memory(const TrainingPlan& plan, const PipelineSchedule& schedule,
                                           ExpertSlots slots = {});
// `peaks`: alive_peaks(schedule, schedule_shape(plan.parallel)), which many plans may share.
[[nodiscard]] MemoryReport estimate_memory(const TrainingPlan& plan, const PipelineSchedule& schedule,
                                           ExpertSlots slots, const std::vector<AlivePeaks>& peaks);

}  // namespace goodput
