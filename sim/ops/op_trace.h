// Recorded operations of a training job, as the readers deliver them: one row per op, in file order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/ops/op_type.h"

namespace goodput {

// A field that the trace does not carry: model chunk, micro-batch or global model chunk of an op that has
// none, and the seq_id of a row whose position in its step is still to be derived.
inline constexpr std::int64_t kUnset = -1;

// Float noise and small steps of a clock make durations of some -1e-6 s; they stay as they are. What is
// recorded as this or less is no duration.
inline constexpr double kLowestDuration = -0.01;

// One recorded op, with room for whatever a file may claim; OpTrace::append() refuses what makes no sense.
struct OpRow {
  std::int64_t dp_rank = 0;  // data-parallel rank, from 0
  std::int64_t stage = 0;    // pipeline stage, from 0
  std::int64_t rank = 0;     // global rank of the recorded worker; one worker a (dp_rank, stage)
  std::int64_t step = 0;     // training step; steps need not be contiguous
  OpType optype = OpType::kForwardCompute;
  double start_s = 0;       // seconds from an origin that is common to the rows of a step; may be negative
  double duration_s = 0;    // seconds, > kLowestDuration; for communication it includes waiting for the peers
  std::int64_t seq_id = 0;  // index among the ops of this type, step and worker
  std::int64_t mc = kUnset;     // model chunk inside the stage (virtual pipeline)
  std::int64_t mb_id = kUnset;  // micro-batch
  std::int64_t gmc = kUnset;    // global model chunk, mc * pp + stage
};

// Columns of equal length, 49 bytes a row.
struct OpTrace {
  std::vector<std::int32_t> dp_rank;
  std::vector<std::int16_t> stage;
  std::vector<std::int32_t> rank;
  std::vector<std::int64_t> step;
  std::vector<OpType> optype;
  std::vector<double> start_s;
  std::vector<double> duration_s;
  std::vector<std::int32_t> seq_id;
  std::vector<std::int16_t> mc;
  std::vector<std::int32_t> mb_id;
  std::vector<std::int32_t> gmc;

  [[nodiscard]] std::size_t size() const { return step.size(); }
  [[nodiscard]] OpRow row(std::size_t index) const;
  void reserve(std::size_t rows);

  // Adds a row, or says what is wrong with it and adds nothing.
  [[nodiscard]] std::optional<std::string> append(const OpRow& row);
};

// Calls visit(column) for each column of a trace.
template <typename Trace, typename Visit>
void for_each_column(Trace& trace, Visit visit) {
  visit(trace.dp_rank);
  visit(trace.stage);
  visit(trace.rank);
  visit(trace.step);
  visit(trace.optype);
  visit(trace.start_s);
  visit(trace.duration_s);
  visit(trace.seq_id);
  visit(trace.mc);
  visit(trace.mb_id);
  visit(trace.gmc);
}

// Adds all rows of `from`, in their order.
void append_rows(OpTrace& to, const OpTrace& from);

// Takes out the rows first + i for which kept[i] is false; the others stay in order.
// REQUIRES: first + kept.size() == trace.size().
void keep_rows(OpTrace& trace, std::size_t first, const std::vector<bool>& kept);

// Whether every start and duration is a float32 value, as NDTimeline records them.
[[nodiscard]] bool times_are_float32(const OpTrace& trace);

// What is wrong with the row (a value out of range, a time that is not finite, a duration of kLowestDuration
// or less), if anything.
[[nodiscard]] std::optional<std::string> problem_with(const OpRow& row);

// Of the rows, whatever their order.
[[nodiscard]] std::uint64_t hash_rows(const OpTrace& trace);

}  // namespace goodput
