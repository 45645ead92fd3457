// Finds the ops, steps and workers of a recorded trace and checks that the trace is dense: every op exactly
// once in every lane, a lane being one replica in one step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/float32.h"
#include "sim/ops/op_trace.h"

namespace goodput {

// An op of the step graph: what its instances in all lanes have in common.
struct TraceOp {
  OpType type = OpType::kForwardCompute;
  std::int32_t seq_id = 0;
  std::int16_t stage = 0;
  std::int16_t mc = kUnset;
  std::int32_t mb_id = kUnset;
  std::int32_t gmc = kUnset;

  // `<optype>_<seq_id>_<stage>`. REQUIRES: a type of NDTimeline.
  [[nodiscard]] std::string name() const;
};

// The recorded times of the ops in the lane from which the dependencies are read: dp_rank 0 in the earliest
// step.
struct TemplateLane {
  std::vector<TraceOp> ops;     // sorted by (stage, type, seq_id)
  std::vector<double> start_s;  // as recorded, not shifted
  std::vector<double> end_s;
  std::int32_t pp_size = 1;
  std::int32_t vpp_size = 1;
};

struct TraceIndex {
  TemplateLane lane;
  std::vector<std::int64_t> steps;  // ascending
  std::int32_t dp_size = 1;
  // Global rank of worker (dp, stage), at dp * pp_size + stage: that of its latest step, the lowest of
  // several.
  std::vector<std::int32_t> ranks;
  std::vector<char> has_more_ranks;        // by worker: recorded under further ranks
  bool float32_times = false;              // every start and duration is a float32 value
  std::vector<std::uint32_t> op_of_row;    // index into lane.ops
  std::vector<std::uint32_t> step_of_row;  // index into steps

  [[nodiscard]] std::int32_t pp_size() const { return lane.pp_size; }
};

// end = start + duration, rounded to float32 when the recorder worked in float32.
[[nodiscard]] inline double end_of(double start_s, double duration_s, bool float32_times) {
  const double end = start_s + duration_s;
  return float32_times ? round_to_float32(end) : end;
}

// One sentence a contradiction inside the rows that the analysis survives: passes whose gmc is not mc * pp +
// stage.
[[nodiscard]] std::vector<std::string> index_warnings(const TraceIndex& index);

// Fails on an empty trace, a duplicated op, and a trace that is not dense (naming the first missing op and
// how many are missing). REQUIRES: every row has a seq_id.
Result<TraceIndex> index_trace(const OpTrace& trace);

}  // namespace goodput
