// Whether a step of a running job is whole, and who is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/live/open_step.h"
#include "sim/live/step_result.h"

namespace goodput {

// What the steps before tell of a step.
struct KnownCounts {
  std::int32_t run = -1;     // in which `expected` was seen
  StageCounts expected;      // of the latest step that was given out whole
  StageCounts given_before;  // of the latest step that was given out, whole or not
};

// The workers that lack rows, of a job of so many replicas and stages.
struct MissingWorkers {
  static constexpr std::size_t kMost = 10'000;  // that are listed

  std::size_t count = 0;
  std::vector<WorkerPlace> places;  // by dp_rank and stage, without ranks
};

// A worker is whole when it has all that its stage has in this step and had in the steps before. Fewer or
// more is a change of the job, and whole, when the number of passes changed both ways and no type is missing,
// when all replicas went on with the same, or when the step before had the same.
[[nodiscard]] MissingWorkers find_missing(const OpenStep& step, const WorkerKey& sizes,
                                          const KnownCounts& known);

// `of 1 of 4 workers no rows came: dp 1 stage 0 (rank 8)`
[[nodiscard]] std::string describe_missing(const OpenStep& step, const MissingWorkers& missing,
                                           const WorkerKey& sizes);

}  // namespace goodput
