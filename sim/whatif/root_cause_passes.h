// What the passes of a recording say about causes: which workers and stages are steadily slow, whether
// micro-batches differ in work, and where a forward pass stood still.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/recording/recording.h"
#include "sim/whatif/root_cause_replay.h"

namespace goodput {

// The forward and backward pass of the same micro-batch and model chunk on one stage.
struct PassPair {
  OpId forward = 0;
  OpId backward = 0;
  std::int16_t stage = 0;
  std::int16_t mc = kUnset;
};

// By (stage, chunk). Empty without micro-batch ids.
[[nodiscard]] std::vector<PassPair> pair_passes(const Recording& recording);

// How long backward passes take, which garbage collection does not touch: of every worker, stage and replica.
// Modelled as stage * replica-in-a-step * worker: lengths of sequences move all stages of a replica alike,
// the partition moves all replicas alike, and what remains is the worker's own.
struct SteadyPace {
  std::vector<double> stage;  // mean backward pass of a stage over that of the middle one
  std::vector<double>
      worker;  // by dp * pp + stage: mean over the steps of what neither stage nor replica explain
  std::vector<double> worker_noise;  // standard error of `worker`
};
[[nodiscard]] SteadyPace measure_pace(const Recording& recording);

// A forward pass that took much longer than its backward pass lets expect.
struct Pause {
  Patch expected;  // the pass as expected
  double excess_s = 0;
  std::size_t worker = 0;  // dp * pp + stage
  std::size_t step = 0;    // index into Recording::steps
};
[[nodiscard]] std::vector<Pause> find_pauses(const Recording& recording, const std::vector<PassPair>& pairs);

// Pearson correlation of forward and backward durations of the same (step, dp, micro-batch, chunk) of one
// stage, each relative to the mean of its step, worker and chunk (with one micro-batch a step: of its worker
// and chunk), and how much the forwards vary (standard deviation over mean). `pauses` are taken out. Absent
// without micro-batch ids or without variation.
struct PassCorrelation {
  double correlation = 0;
  double variation = 0;
  std::size_t pairs = 0;
};
[[nodiscard]] std::optional<PassCorrelation> correlate_passes(const Recording& recording,
                                                              const std::vector<PassPair>& pairs,
                                                              std::int32_t stage,
                                                              const std::vector<Pause>& pauses);

}  // namespace goodput
