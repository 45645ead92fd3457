// The order in which a stage of DualPipe and DualPipeV runs its passes: the same for both, of two chunks
// through which micro-batches travel in opposite directions.
#pragma once

#include <cstdint>
#include <vector>

#include "models/schedule/schedule.h"

namespace goodput {

// A stage of half a pipeline, whose entrance and turn are its two ends. "Near" is the chunk whose
// micro-batches come from the entrance, "far" the one whose micro-batches come from the turn.
struct DualStage {
  std::int32_t to_entrance = 0;       // stages in between
  std::int32_t to_turn = 0;           // the same
  std::int32_t micro_batches = 0;     // of each chunk; at least 2 (to_entrance + to_turn + 1)
  std::int16_t near_chunk = 0;        // the other one is far
  std::int32_t first_of_chunk_1 = 0;  // its first micro-batch; that of chunk 0 is 0
};

// In the middle of the step every forward runs in turn with a backward of the other chunk. At the end
// gradients of weights fill the bubble.
[[nodiscard]] std::vector<Pass> dual_passes(const DualStage& stage);

}  // namespace goodput
