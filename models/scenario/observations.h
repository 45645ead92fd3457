// How many different trials the failures of a scenario allow. A recording that every trial replays from the
// same moment is one observation: more trials would only repeat it, and an interval over them would claim
// certainty.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/job/job_model.h"
#include "models/scenario/scenario.h"
#include "sim/base/units.h"

namespace goodput {

// How much of a recording a run of the job may take: twice the ideal time to its goal, or `duration_s` if
// that is less. 0: more than a century.
[[nodiscard]] SimDuration recording_window(const Scenario& scenario, const JobModel& job);

struct Observations {
  std::int64_t trials = 1;  // to run: 1 where all would replay the same, else as many as are wanted
  bool repeats = false;     // every trial replays the same of some recording
  std::string note{};       // what trials over a recording mean, in a sentence; empty: nothing to say

  // Although more were wanted: there is nothing to put an interval around.
  [[nodiscard]] bool is_one_run() const { return repeats && trials == 1; }
};

// Of `trials` wanted trials. `sources`: of all_failures(scenario). REQUIRES: make_failures() of these
// succeeds.
[[nodiscard]] Observations observations_of(const Scenario& scenario, std::span<const FailureSource> sources,
                                           std::int64_t trials);

}  // namespace goodput
