// Several ranks at one (dp_rank, stage): tensor-parallel peers, or a node that took the place of another one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/ops/op_trace.h"
#include "traces/op/step_runs.h"

namespace goodput {

struct KeptRanks {
  std::size_t peer_rows = 0;  // dropped, of tensor-parallel peers
  ReplacedRanks replaced;     // by a rank that began after another one's end in the same step
};

// What becomes of the rows of a rank that recorded the same step as the kept one, but not at the same time.
enum class OtherTimes : std::uint8_t {
  kDropped,  // the latest rank is kept
  kKept,     // for those who refuse ops that are recorded twice
};

// Keeps one rank a (dp_rank, stage) and step. Ranks that record a step at the same time are peers: of these
// stays who recorded the most steps there, of equals the lowest. In other steps others may stay: nodes are
// replaced. The kept rows stay in order.
KeptRanks keep_one_rank(OpTrace& trace, OtherTimes other_times);

}  // namespace goodput
