// Pairs the forward and backward passes of a recording, and finds the passes that paused.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/causes/remedy.h"
#include "sim/recording/recording.h"

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

// A pass that took much longer than expected from the other pass of its pair.
struct Pause {
  Patch expected;  // the pass as expected
  double excess_s = 0;
  std::size_t worker = 0;  // dp * pp + stage
  std::size_t step = 0;    // index into Recording::steps
};
[[nodiscard]] std::vector<Pause> find_pauses(const Recording& recording, const std::vector<PassPair>& pairs);

}  // namespace goodput
