// Estimates the offsets of the clocks of a recording, and converts the recording to one clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/clocks/clock_course.h"
#include "sim/ops/op_graph.h"
#include "sim/recording/recording.h"

namespace goodput {

struct ClockJump {
  std::int64_t step = 0;  // the first one after it
  double from_s = 0;      // offsets before and after
  double to_s = 0;
};

struct Clock {
  std::string name;                // of the host, or `rank 12`
  double offset_s = 0;             // what it shows minus the reference, the median over the steps
  std::optional<double> drift;     // seconds per second; empty if the times do not show it
  bool is_drifting = false;        // beyond 5 ppm, five times its noise, and 0.4 ms in all
  std::vector<ClockJump> jumps{};  // by more than 5 ms, ascending
  double noise_s = 0;              // standard error of the offset, the worst of its pieces
  ClockCourse course{};            // over the time of a step, in seconds or in step numbers
};

// Two workers, or a worker and the other replicas of its stage, whose recorded ends differ from what the
// offsets of all clocks say.
struct ClockConflict {
  std::size_t worker = 0;
  std::optional<std::size_t> other;  // nothing: the replicas of its stage
  double apart_s = 0;                // the median over the steps
};

struct ClockEstimate {
  std::vector<Clock> clocks;                   // in the order of their first workers
  std::vector<std::uint32_t> clock_of_worker;  // in the order of Recording::ranks
  std::vector<double> time;                    // by step: what courses run over
  bool is_absolute = false;                    // steps start later and later: drifts can be seen
  double largest_s = 0;                        // the largest offset in any step, drift and jumps included
  // Some offset is beyond 5 ms and five times its noise, or some clock drifts.
  bool needs_aligning = false;
  std::vector<ClockConflict> conflicts;  // worst first
};

// Offsets by robust least squares over all pairs of clocks that end ops together (clock_network.h), for each
// step. Over the steps an offset is constant between jumps; if times are absolute, it may also drift
// linearly. Clocks that no chain of pairs connects have separate references: the median clock of each
// component.
[[nodiscard]] ClockEstimate estimate_clocks(const Recording& recording, const OpGraph& graph);

// By worker and step, at worker * recording.steps.size() + step: what to subtract.
[[nodiscard]] std::vector<ClockShift> clock_shifts(const ClockEstimate& estimate, const Recording& recording);

}  // namespace goodput
