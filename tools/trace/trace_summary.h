// What an op trace holds, in numbers: for `goodput trace info`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/ops/op_trace.h"
#include "sim/ops/op_type.h"

namespace goodput {

struct OpTypeTotals {
  std::size_t ops = 0;
  double seconds = 0;  // of all its ops together
};

struct TraceSummary {
  std::size_t rows = 0;
  std::vector<std::int64_t> steps;  // ascending
  std::int64_t dp_size = 0;         // highest data-parallel rank + 1
  std::int64_t pp_size = 0;         // highest stage + 1
  std::int64_t vpp_size = 1;        // highest model chunk + 1
  std::int64_t micro_batches = 0;   // highest micro-batch of a forward or backward + 1
  std::size_t workers = 0;          // (dp_rank, stage) pairs with rows
  std::size_t lanes = 0;            // (step, dp_rank) pairs with rows
  std::size_t least_ops_per_lane = 0;
  std::size_t most_ops_per_lane = 0;
  std::array<OpTypeTotals, kOpTypeCount> by_type{};
  double shortest_step_s = 0;  // last end - first start
  double median_step_s = 0;
  double longest_step_s = 0;
  bool float32_times = false;  // every start and duration is a float32
  std::string not_dense;       // why the trace cannot be analysed as it is; empty: every op is in every lane
};

// REQUIRES: rows, each with a seq_id.
[[nodiscard]] TraceSummary summarize(const OpTrace& trace);

}  // namespace goodput
