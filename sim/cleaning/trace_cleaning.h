// Turns the rows of a production trace into rows that can be analyzed, by dropping rows and steps. Nothing is
// filled in. sim/ops/cleaning_rules.def lists the problems and what is done about each.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/errors.h"
#include "sim/cleaning/cleaning_options.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/op_trace.h"
#include "sim/ops/trace_index.h"

namespace goodput {

struct CleanTrace {
  OpTrace trace;
  TraceIndex index;                       // of `trace`
  std::vector<std::uint32_t> selected;    // of index.steps what was asked for and kept, ascending
  std::vector<CleaningFinding> findings;  // the readers' too, one a rule, in the order of the rules

  // Before anything was dropped.
  std::size_t recorded_rows = 0;
  std::vector<std::int64_t> recorded_steps;
  std::int64_t recorded_dp_size = 1;
  std::int64_t recorded_pp_size = 1;
};

// A dense trace costs its index and one more pass. In other traces
// - repeated rows are dropped,
// - of a step that was run again, the last complete run is kept,
// - incomplete steps, and steps with another number of micro-batches or replicas, are dropped,
// - steps with impossible times are dropped (plausible_times.h).
// If steps are selected, only these must be complete; the first complete step of the trace is also kept, as
// the template lane.
//
// Fails if fewer than half of the steps remain, if a step selected by its number is dropped, if a worker or
// stage is absent in every step, if a rank is recorded at two places, or if all times are implausible. In
// strict mode also fails with the error of index_trace(). REQUIRES: every row has a seq_id; at least one step
// is selected (sim/cleaning/step_selection.h).
Result<CleanTrace> clean_trace(OpTrace trace, const std::vector<CleaningFinding>& findings_of_readers,
                               const CleaningOptions& options);

}  // namespace goodput
