// What a process that goes on with a running job has to know of the one before it, as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/live/job_runs.h"
#include "sim/live/open_step.h"
#include "sim/live/step_check.h"

namespace goodput {

struct IntakeState {
  struct Worker {
    WorkerKey key;
    std::int32_t run = 0;                                  // of which the lowest is known
    std::int32_t lowest = 0;                               // rank
    std::vector<std::pair<std::int32_t, double>> skews_s;  // by rank, of clocks that are minutes off
  };

  JobRuns runs;
  KnownCounts known;
  double step_length_s = 0;
  std::vector<std::pair<std::int32_t, WorkerKey>> seen_sizes;  // by run
  std::vector<Worker> workers;
};

[[nodiscard]] std::string to_text(const IntakeState& state);
Result<IntakeState> read_intake_state(std::string_view text);

}  // namespace goodput
