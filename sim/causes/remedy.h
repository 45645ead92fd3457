// What a fix changes in a recording, and how long the step takes when it is replayed with the fix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/ops/op_graph.h"
#include "sim/recording/instance_set.h"
#include "sim/recording/recording.h"
#include "sim/whatif/whatif.h"

namespace goodput {

// A recording with its graph and analysis, which the search for causes needs. All must outlive it.
struct AnalysedJob {
  const OpGraph& graph;
  const Recording& recording;
  const WhatIf& result;
  unsigned jobs = 1;  // threads; no result depends on it
};

// An op instance and the time it should have taken.
struct Patch {
  std::size_t block = 0;  // index into Recording::blocks
  OpId op = 0;
  std::size_t lane = 0;
  double value_s = 0;
};

// Factors on the forward and the backward passes of a stage.
struct PassFactors {
  double forward = 1;
  double backward = 1;
};

// A factor on the passes of each micro-batch in each lane: by block, rows of stride() entries, one row a
// micro-batch. Padding is 1.
struct MicroBatchFactors {
  std::vector<std::vector<double>> of_block;
};

// A factor on the passes of some workers in each lane: by block, rows of stride() entries.
struct WorkerFactors {
  std::vector<std::int32_t> row_of_stage;  // -1: none
  std::vector<std::vector<double>> of_block;
};

// Instances in `ideal` take their ideal value; others take their patch, or what was recorded, times the
// factors on passes.
struct Remedy {
  InstanceSet ideal;
  std::vector<Patch> patches;
  std::vector<PassFactors> stages;  // by stage; empty: 1
  MicroBatchFactors micro_batches;  // empty: 1
  WorkerFactors workers;            // empty: 1
  bool messages_take_no_time = false;
  bool launches_at_once = false;  // also counts as gained what launch delays cost
};

// Both remedies at once. REQUIRES: they do not both have factors of the same kind.
[[nodiscard]] Remedy united(Remedy a, const Remedy& b);

// Step spans of the recording with a remedy, launches without delay, by step.
[[nodiscard]] std::vector<double> replay_with(const AnalysedJob& job, Remedy remedy);

// The recording as it would have been with a remedy, launches without delay: what other causes leave.
[[nodiscard]] Recording repaired(const AnalysedJob& job, Remedy remedy);

// The mean step over the mean step with the remedy: 1.25 = 1.25 times as fast. The step is that of the replay
// without launch delays; as recorded when the remedy is about launches.
struct Gain {
  double step_s = 0;  // with the remedy
  double gain = 1;
};
[[nodiscard]] Gain gain_of(const AnalysedJob& job, Remedy remedy);

}  // namespace goodput
