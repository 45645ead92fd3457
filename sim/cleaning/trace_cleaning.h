// From the rows of a production trace to rows that an analysis can take: rows are dropped and steps left out,
// nothing is filled in. What was met and what was done about it is in sim/ops/cleaning_rules.def.
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

// A trace that is dense as it came costs its index and one pass more. Else: rows that repeat others are
// dropped; of steps run again the last complete run stays; steps that are not whole, and whole ones of
// another number of micro-batches or replicas, are left out; so are steps with times that cannot be
// (plausible_times.h). With steps asked for, only these have to be whole; the first whole step of the trace
// stays besides, for the template lane.
//
// Fails when fewer than half of the steps remain, when a step named singly is left out, when a worker or
// stage is absent in every step or a rank at two places, on implausible times, and, strictly, with what
// index_trace() says. REQUIRES: every row has a seq_id; some step is asked for
// (sim/cleaning/step_selection.h).
Result<CleanTrace> clean_trace(OpTrace trace, const std::vector<CleaningFinding>& findings_of_readers,
                               const CleaningOptions& options);

}  // namespace goodput
