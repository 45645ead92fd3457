// All offsets at once, where the courses of the clocks are known.
#pragma once

#include <span>
#include <vector>

#include "sim/clocks/clock_course.h"
#include "sim/clocks/clock_network.h"

namespace goodput {

// Solves for the offsets of all pieces of `courses` (by clock) together, over the middle of every pair's
// differences while neither of its two clocks jumps: a clock that jumps stays as close to its neighbours as
// messages say. Slopes and jumps stay as they are; `time` by step.
void refit_offsets(const ClockNetwork& network, std::span<const double> time,
                   std::vector<ClockCourse>& courses);

}  // namespace goodput
