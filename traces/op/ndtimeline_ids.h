// Gives ops recorded without identity (NDTimeline's Chrome array and raw log) their seq_id, mc, mb_id and
// gmc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/op_trace.h"

namespace goodput {

struct DerivedIds {
  std::size_t ops = 0;              // compute ops whose place was compared with the schedule
  std::size_t matched = 0;          // of these, ops that stand where the schedule has them
  std::size_t dropped_tp_rows = 0;  // rows of tensor-parallel peers of a recorded worker, removed
  std::size_t uneven_buckets =
      0;                 // workers' steps whose data-parallel buckets do not divide evenly over the chunks
  std::size_t gaps = 0;  // steps in which passes are missing
  std::string schedule;  // the schedule that fitted best, for people

  std::map<std::int64_t, double> step_origin_s;  // what was subtracted from the starts of each step
  bool were_float32 = false;                     // all times, before that
  std::vector<CleaningFinding> findings;         // rows and steps recorded twice, workers replaced in them

  [[nodiscard]] std::string note() const;  // one line that says all of this
};

// True when any row waits for an identity (seq_id kUnset).
[[nodiscard]] bool lacks_ids(const OpTrace& trace);

// What becomes of steps that are not one whole run.
enum class IdGaps : std::uint8_t {
  // Refused are steps in which passes are missing: forward and backward passes in different numbers, or other
  // numbers on another worker. A step that was run again is numbered as one.
  kRefused,
  // Of a step that was run again the last complete run is kept (traces/op/step_runs.h), of ranks that
  // followed each other in a step the latest. The ops of a step in which passes are missing are numbered as
  // they come, and it says nothing about the schedule.
  kLeftToOthers,
};

// Derives identities in place: seq_id by start within (step, dp_rank, stage, optype); model chunk and
// micro-batch of the k-th forward and backward from the (interleaved) schedule of `vpp_size` chunks;
// data-parallel buckets split evenly over the chunks. Keeps one of tensor-parallel peers
// (traces/op/worker_ranks.h) and moves each step's first start to 0 (in float64, before rounding to float32).
// Row order of the kept rows is unchanged. A worker that was replaced from one step to the next keeps its
// ranks; only one of whose former ranks no row is left is a finding. Fails when no step is whole, when fewer
// than 99 % of the compute ops stand where the schedule has them, naming the first that does not, and when
// some rows carry a seq_id already. `trace` is then in an unspecified but valid state. REQUIRES: vpp_size
// >= 1.
Result<DerivedIds> derive_ids(OpTrace& trace, int vpp_size, IdGaps gaps = IdGaps::kRefused);

}  // namespace goodput
