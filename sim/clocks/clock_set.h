// Steps inside which a clock was set: no offset fits both what came before and what came after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/clocks/clocks.h"
#include "sim/ops/op_graph.h"
#include "sim/recording/recording.h"

namespace goodput {

// Two workers of a replica whose messages show another difference of their clocks late in a step than early.
struct DifferenceChange {
  std::size_t step = 0;  // index into Recording::steps
  std::uint32_t lower = 0;
  std::uint32_t upper = 0;  // workers
  double by_s = 0;          // of lower's clock minus upper's
};

// Sorted by step. A change is larger than 5 ms and than eight times the noise of the ends, and it lasts: the
// step before has the difference of the earlier part and the step after that of the later part, or all
// messages of the step agree. Takes time linear in the number of messages.
[[nodiscard]] std::vector<DifferenceChange> find_changes_inside_steps(const Recording& recording,
                                                                      const OpGraph& graph);

// The clock that explains most of the changes of one step.
struct ClockSet {
  std::uint32_t clock = 0;
  std::optional<std::uint32_t> other;  // explains as many
  double by_s = 0;                     // of `clock`
};

// `clock_of_worker`: in the order of Recording::ranks. REQUIRES: a change.
[[nodiscard]] ClockSet explain_changes(std::span<const DifferenceChange> of_step, const Recording& recording,
                                       std::span<const std::uint32_t> clock_of_worker);

// A step inside which a clock was set.
struct SetStep {
  std::size_t step = 0;  // index into Recording::steps
  ClockSet set;
};

// Steps in which a worker's ops start in an impossible order, because its clock was set back: passes before
// earlier ones of their kind, or after the optimizer. Sorted by step, each step once. ClockSet::clock is the
// worker.
[[nodiscard]] std::vector<SetStep> find_ops_out_of_order(const Recording& recording);

// Steps next to a jump of a clock's offset that took longer or shorter by this clock than by the others: the
// clock was set inside them. For the first step, an offset of the clock counts as a jump. Checks jumps of at
// least 20 ms in recordings of at least three steps. Sorted by step, each step once.
[[nodiscard]] std::vector<SetStep> find_sets_at_jumps(const Recording& recording,
                                                      const ClockEstimate& estimate);

}  // namespace goodput
