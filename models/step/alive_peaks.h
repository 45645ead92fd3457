// How many micro-batches' activations a stage holds at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/schedule/schedule.h"

namespace goodput {

// The moments of a step at which a stage holds most: forwards of each of its chunks that have begun and are
// not yet given back by a backward (for split backwards: by the weight pass). Of two moments one of which has
// no more of any chunk only the other is kept.
struct AlivePeaks {
  std::size_t chunks = 1;
  std::vector<std::int32_t> alive;  // rows of `chunks` entries, one a moment

  // The most of any one chunk.
  [[nodiscard]] std::int32_t most() const;
  // At the worst moment, where a micro-batch of each chunk takes so much.
  [[nodiscard]] double most_bytes(std::span<const double> chunk_bytes) const;
};

// `passes`: of a stage with so many chunks.
[[nodiscard]] AlivePeaks alive_peaks(const std::vector<Pass>& passes, std::size_t chunks);

// By stage. REQUIRES: schedule.check(shape).
[[nodiscard]] std::vector<AlivePeaks> alive_peaks(const PipelineSchedule& schedule,
                                                  const ScheduleShape& shape);

}  // namespace goodput
