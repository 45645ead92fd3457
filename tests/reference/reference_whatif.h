// The slow, obvious reference of the what-if analysis: string op names, ordered maps, recursion, brute force.
//
// It shares nothing with the production engine but OpTrace and the op type table, and is linked into tests
// only. Everything is float64, except that ends, transfers, launch delays and the median of transfers are
// rounded to float32 when every start and duration of the trace is a float32 value (as NDTimeline records
// them). Lanes are aligned by (step, dp rank); the order of the rows does not matter.
//
// Every function throws std::runtime_error, with a sentence, on a trace the analysis cannot treat (rows
// missing, ops without a place in a training step, sends without receives, cyclic dependencies, steps that do
// not exist).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/base/json_fwd.h"
#include "sim/ops/op_trace.h"
#include "tests/reference/reference_replay.h"

namespace goodput::reference {

struct Options {
  std::vector<std::int64_t> steps = {};  // to analyse; empty: all. Dependencies always see the whole trace
  double threshold = 1.03;               // slowdown from which it is decomposed (inclusive)
  int dsp_size = 1;                      // data sharding: above 1, DP is in use even with one dp rank
};

// An op name is "<optype>_<seq_id>_<stage>".
Dependencies dependencies(const OpTrace& trace, const Options& options);

struct OpTimes {
  double transfer;                    // NaN for an op that is in no group
  double launch_delay;                // recorded start after the last predecessor
  double nodelay_start, nodelay_end;  // origin: start of the step
  double ideal_start, ideal_end;
};
using OpInstance = std::tuple<std::int64_t, int, std::string>;  // step, dp rank, op name

// Of the selected steps only; the ideal durations are those of the selected steps.
std::map<OpInstance, OpTimes> op_times(const OpTrace& trace, const Options& options);

// The compatible result file without job_meta, with `mw` and `ms`.
Json compat_result(const OpTrace& trace, const Options& options);

// (dp rank, stage) -> mean step time with only this worker as recorded and all others ideal, over the ideal
// mean. One simulation of everything per worker.
std::map<std::pair<int, int>, double> exact_worker_slowdowns(const OpTrace& trace, const Options& options);

// Mean over the steps of the time from the first start to the last end when exactly the ops that `recorded`
// accepts keep their recorded durations and transfers, all others are ideal, and nothing is launched late.
double step_time_with(const OpTrace& trace, const Options& options,
                      const std::function<bool(const OpView&)>& recorded);

}  // namespace goodput::reference
