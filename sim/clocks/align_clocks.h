// Converts the times of a recording to one clock, if the user asks for it or the clocks disagree.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/clocks/clocks.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/op_graph.h"
#include "sim/recording/recording.h"

namespace goodput {

enum class ClockAlignment {
  // If a clock drifts, or is off by more than 5 ms and more than five times the noise of its offset. Not if
  // float32 rounding alone could explain it.
  kAuto,
  kOn,
  kOff,
};
inline constexpr std::array<std::string_view, 3> kClockAlignments = {"auto", "on", "off"};

struct RecordedClocks {
  ClockEstimate estimate;
  bool are_aligned = false;  // the recording has the reference's time
  // Steps inside which a clock was set; the first step of the recording counts as warm-up.
  std::vector<CleaningFinding> left_out{};
};

// Drops steps inside which a clock was set (clock_set.h), unless the clocks are kept as they are or that
// would drop more than half of the steps. In the first step connections are set up, and its messages end as
// if a clock had been set. Adds to `notes` what was done to the times, and which pairs contradict each other.
[[nodiscard]] RecordedClocks align_clocks(Recording& recording, const OpGraph& graph,
                                          ClockAlignment alignment, std::vector<std::string>& notes);

// `dp 0 stage 1 (rank 4) and dp 0 stage 2 (rank 8)`
[[nodiscard]] std::string conflict_name(const WorkerGrid& grid, const ClockConflict& conflict);

// `+50.2 ms`, `-2.000 s`
[[nodiscard]] std::string clock_time(double seconds);

}  // namespace goodput
