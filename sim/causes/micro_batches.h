// How much work each micro-batch is, against the others of its step: forward and backward passes of the same
// micro-batch rise and fall together on all stages when it is the lengths of its sequences that differ.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/causes/pace.h"
#include "sim/causes/passes.h"
#include "sim/causes/remedy.h"
#include "sim/recording/recording.h"

namespace goodput {

struct MicroBatchWork {
  // Forward against backward passes of the same (step, dp, micro-batch), each the mean over stages and model
  // chunks of the time over that of the worker's step (with one micro-batch a step: of the worker).
  double correlation = 0;
  double variation = 0;   // standard deviation of the forwards over their mean
  std::size_t count = 0;  // (step, dp, micro-batch)
  // The factors that give every micro-batch of a step the same work: what a step has in all stays.
  MicroBatchFactors balance;
};

// `pairs` and `pauses`: of this recording; pauses are taken out. Absent without micro-batch ids or without
// variation.
[[nodiscard]] std::optional<MicroBatchWork> measure_micro_batches(const Recording& recording,
                                                                  const std::vector<PassPair>& pairs,
                                                                  const std::vector<Pause>& pauses,
                                                                  const PassPace& pace);

}  // namespace goodput
