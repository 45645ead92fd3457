// A dense trace as lane arrays: for every op of the step graph a row of recorded values, one entry a lane.
//
// Steps never interact, so the arrays are cut into blocks of whole steps that fit the cache.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/timing.h"
#include "sim/ops/op_graph.h"
#include "sim/ops/op_trace.h"
#include "sim/ops/op_type_table.h"
#include "sim/ops/trace_index.h"
#include "sim/recording/worker_grid.h"

namespace goodput {

// Some consecutive steps. Rows are op-major in OpId order, shape.stride() entries each, padded with zeros.
struct StepBlock {
  std::size_t first_step = 0;  // index into Recording::steps
  LaneShape shape;             // steps x replicas
  std::vector<double> start_s;
  std::vector<double> end_s;
  std::vector<double> value_s;  // duration of a plain op, transfer time of a grouped one

  [[nodiscard]] std::span<const double> row(const std::vector<double>& array, OpId op) const {
    return std::span(array).subspan(op * shape.stride(), shape.stride());
  }
};

struct Recording : WorkerGrid {
  OpTypeTable types;
  std::vector<TraceOp> ops;          // by OpId
  std::vector<std::uint32_t> pools;  // by OpId: ops of one number have one ideal value
  bool stages_are_alike = false;     // all do the same: they are no stages of a pipeline
  std::vector<OpId> finish_ops;      // a step is finished when these have ended
  std::vector<std::int64_t> steps;   // the analysed steps, ascending
  bool float32_times = false;
  bool were_float32 = false;  // the times of the files, before anything was subtracted

  std::vector<StepBlock> blocks;
  std::vector<double> step_origin_s;  // by step: the earliest recorded start
  std::vector<double> step_base_s;    // by step: the recorded step time, last end - first start
  // By step: what the reader took off all its times; empty: nothing. Only where steps stand to each other.
  std::vector<double> subtracted_s;

  // `<type>_<seq_id>_<stage>`
  [[nodiscard]] std::string name_of(OpId op) const;
  [[nodiscard]] bool is_message(OpId op) const { return types[ops[op].type].op_class == OpClass::kP2p; }
  // Both ends of a message within a replica.
  [[nodiscard]] bool is_message(const OpGraph::Unit& unit) const {
    return unit.count == 2 && unit.partition == kReplicasApart && is_message(unit.first) &&
           is_message(unit.first + 1);
  }
};

// Makes the blocks for its ops, steps and replicas, with all times 0.
void make_blocks(Recording& recording);

// Of start_s and, in value_s, the durations of all ops: the ends, the transfer times of grouped ops (end -
// latest start of those the op meets; at or below -10 ms they count as clock error and become 0), and the
// origins and times of the steps.
void derive_times(Recording& recording, const OpGraph& graph);

// Arranges the rows of the steps at `selected` (indices into index.steps, ascending): ops of one type are a
// pool, and a step is finished with its optimizers. Consumes the trace, which is the larger of the two.
// `graph` must be built from index.lane.
[[nodiscard]] Recording arrange(OpTrace trace, TraceIndex index, const OpGraph& graph,
                                std::span<const std::uint32_t> selected);

// What a worker's clock shows too much in one step.
struct ClockShift {
  double offset_s = 0;  // in the middle of what the worker recorded of the step
  double drift = 0;     // and from there on, seconds a second
};

// Takes the shifts, by worker and step (worker * steps.size() + step), off all starts and ends and derives
// what follows from them anew. The times are no float32 values any more.
void shift_clocks(Recording& recording, const OpGraph& graph, std::span<const ClockShift> shifts);

// Launch delay of every op of a block, in the layout of its rows: start - latest end of the predecessors, or
// - the step's first start. At or below -10 ms they become 0.
[[nodiscard]] std::vector<double> compute_launch_delays(const Recording& recording, const StepBlock& block,
                                                        const OpGraph& graph);

// What each op would take without stragglers, by OpId: the mean or median (as its type says) of the values of
// all ops of its pool, in all replicas and steps; in float32 recordings rounded to float32 where the ops are
// grouped, as the reference does. REQUIRES: the types of a pool agree on the statistic.
using IdealValues = std::vector<double>;
[[nodiscard]] IdealValues compute_ideal_values(const Recording& recording, const OpGraph& graph);

}  // namespace goodput
