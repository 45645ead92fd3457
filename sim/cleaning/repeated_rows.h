// Rows that are in a trace more than once: the same rows again, and steps that were run again.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/cleaning/op_instances.h"
#include "sim/cleaning/step_shapes.h"
#include "sim/ops/op_trace.h"

namespace goodput {

// Removes rows of which all columns are those of another one; the first stays. How many.
std::size_t drop_repeated_rows(const OpTrace& trace, StepInstances& step);

// The first row of an op that the step has more than once.
[[nodiscard]] std::optional<InstanceRow> first_repeated_op(const StepInstances& step);

// Whether starts count from the beginning of each step, not from one origin: the earliest starts of the steps
// are within half a median step of each other. A single step counts as such.
[[nodiscard]] bool starts_are_relative(const OpTrace& trace, const std::vector<StepInstances>& steps);

// The last complete run of a step that was run several times, by start: rows are cut in runs at the longest
// idle time before an op repeats. Complete is what has the ops `want` in every replica; without `want` what
// is dense. Where no run is, the latest of several ranks at a place stands for it. None when nothing is
// complete or the runs overlap. REQUIRES: starts from one origin.
[[nodiscard]] std::optional<std::vector<InstanceRow>> last_complete_run(const OpTrace& trace,
                                                                        const StepInstances& step,
                                                                        const std::vector<OpKey>* want);

}  // namespace goodput
