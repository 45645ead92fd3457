// The rows of one step, and where it is cut into runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/ops/op_trace.h"

namespace goodput {

using RunRows = std::span<const std::size_t>;  // rows of a trace by start

// Who recorded the rows: a worker is a rank at a place, a place a (dp_rank, stage).
struct RowWorkers {
  std::vector<std::uint32_t> of_row;
  std::vector<std::uint32_t> place_of_worker;
  std::uint32_t places = 0;

  explicit RowWorkers(const OpTrace& trace);
};

// Ops by place and type; of several ranks at a place the most.
using PlaceOpCounts = std::vector<std::array<std::uint32_t, kNdtimelineTypeCount>>;
[[nodiscard]] PlaceOpCounts count_place_ops(const OpTrace& trace, const RowWorkers& workers, RunRows rows);

// Whether a rank has an op twice that a step has once: the optimizer, its clipping, the reduction of
// layernorm or embedding gradients.
[[nodiscard]] bool has_single_op_twice(const OpTrace& trace, const RowWorkers& workers, RunRows rows);

// Whether passes can be those of one run: as many forwards as backwards, the same number wherever there are
// any.
[[nodiscard]] bool has_even_passes(const PlaceOpCounts& counts);

// Whether no worker records anything for at least half the time that is recorded before or after it.
[[nodiscard]] bool has_long_gap(const OpTrace& trace, RunRows rows);

// The last complete run of a step, if there is one. `want`: the counts of a complete run; null: what can be
// one run and has all types of ops that a place has in the step.
[[nodiscard]] std::optional<RunRows> find_last_run(const OpTrace& trace, const RowWorkers& workers,
                                                   RunRows step, const PlaceOpCounts* want);

}  // namespace goodput
