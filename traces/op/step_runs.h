// Steps that were run again after a restart, in rows without ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sim/ops/op_trace.h"

namespace goodput {

// dp_rank and stage, and the steps in which ranks there gave way to others.
using ReplacedRanks = std::map<std::pair<std::int32_t, std::int16_t>, std::set<std::int64_t>>;

struct RepeatedSteps {
  std::vector<std::int64_t> resolved;   // of these the last complete run was kept; ascending
  std::vector<std::int64_t> unordered;  // these were left out; ascending
  ReplacedRanks replaced;               // of the resolved ones

  std::size_t copied_rows = 0;             // dropped, of files given twice or overlapping ones
  std::vector<std::int64_t> copied_steps;  // in which they were; ascending
};

// Drops copies of rows (find_row_copies()) and keeps the last complete run of each step that was run
// several times, by start; the kept rows stay in order. A step that can be one run (as many forward as
// backward passes, the same number on all workers, what is recorded once a step once, no idle time of half
// its length) is taken for one. Of others the rows are cut at the longest idle time before a worker has more
// ops than in the nearest step that is one run; complete is what has as many ops of every type on every
// worker. Without such a step runs are cut at the longest idle times, and complete is what can be one run and
// has all types of ops that the worker has in the step. Where nothing but idle time tells runs apart, that
// must be at least half as long as the run.
//
// Of a step without a complete run nothing is dropped, unless ops are in it twice that a step has once: its
// runs overlap (starts count from the beginning of each step), and it is left out, when at least as many
// steps are one run.
RepeatedSteps keep_last_runs(OpTrace& trace);

}  // namespace goodput
