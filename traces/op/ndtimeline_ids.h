// Gives ops recorded without identity (NDTimeline's Chrome array and raw log) their seq_id, mc, mb_id and
// gmc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/base/errors.h"
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

  [[nodiscard]] std::string note() const;  // one line that says all of this
};

// True when any row waits for an identity (seq_id kUnset).
[[nodiscard]] bool lacks_ids(const OpTrace& trace);

// What becomes of a step in which passes are missing: forward and backward passes in different numbers, or
// other numbers on another worker.
enum class IdGaps : std::uint8_t {
  kRefused,
  kLeftToOthers,  // its ops are numbered as they come, and it says nothing about the schedule
};

// Derives identities in place: seq_id by start within (step, dp_rank, stage, optype); model chunk and
// micro-batch of the k-th forward and backward from the (interleaved) schedule of `vpp_size` chunks;
// data-parallel buckets split evenly over the chunks. Keeps the lowest rank of a (dp_rank, stage) and moves
// each step's first start to 0 (in float64, before rounding to float32). Row order of the kept rows is
// unchanged. Fails when no step is whole, when fewer than 99 % of the compute ops stand where the schedule
// has them, naming the first that does not, and when some rows carry a seq_id already. `trace` is then in an
// unspecified but valid state. REQUIRES: vpp_size >= 1.
Result<DerivedIds> derive_ids(OpTrace& trace, int vpp_size, IdGaps gaps = IdGaps::kRefused);

}  // namespace goodput
